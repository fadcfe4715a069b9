import Commerce
import ContentPackage
import CoreTypes
import Files
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// A page of placed content, which lies in a file of its own where the content is a folder.
enum PlacedPage {
  /// The path of a page, counted from 1 in the order in which the pages are read that are here. Blocks. Throws a failure for content that is one
  /// file, and for a page that it does not have.
  ///
  /// - Parameter sections: the sections that are here.
  static func path(
    of page: String, in item: LibraryItem, with sections: Set<SectionTag> = []
  ) throws -> String {
    // The manifest lies beside the folders of the versions.
    let kept = "\(FileSystem.parent(of: item.path))/.pullbox/\(item.version)"
    guard let manifest = try StoredManifest.read(kept), manifest.product == item.product,
      manifest.version == item.version
    else {
      throw CommandFailure(
        .failed, "\(item.product) is one file on this device, which a reader opens at a page itself")
    }
    return "\(item.path)/\(try path(of: page, in: manifest.selecting(sections)))"
  }

  /// The same below the folder.
  static func path(of page: String, in manifest: Manifest) throws(CommandFailure) -> String {
    guard let order = manifest.readingOrder, manifest.kind == .folder, !order.isEmpty else {
      throw CommandFailure(.failed, "\(manifest.product) has no pages that lie in files of their own")
    }
    guard let number = Int(page), (1...order.count).contains(number) else {
      throw CommandFailure(.failed, "\(page): \(manifest.product) has the pages 1 to \(order.count)")
    }
    return order[number - 1].text
  }
}
