package import Commerce
import CoreTypes
package import PullboxAPI

/// How far a product was read: the latest word of any program of the device, and what its page is called, by which it is found again in a
/// corrected version. A pure value.
package struct ReadingRecord: Hashable, Sendable {
  package var product: ProductIdentifier
  /// The latest word, as ``ReadingProgress`` is kept.
  package var progress: ReadingProgress
  /// The version that was read.
  package var version: ContentVersion
  /// The name of the page's file in that version; nil where there are no pages.
  package var pageName: String?

  package init(
    product: ProductIdentifier, progress: ReadingProgress, version: ContentVersion, pageName: String? = nil
  ) {
    self.product = product
    self.progress = progress
    self.version = version
    self.pageName = pageName
  }

  /// The record of what another device told, for a device whose version is `version` where the other named none.
  package init(_ told: ReadingProgress, of product: ProductIdentifier, readAs version: ContentVersion) {
    self.init(
      product: product, progress: told, version: told.version ?? version,
      pageName: told.version == nil ? nil : told.pageName)
  }

  /// The word for other devices, which says what its page is called.
  package var shared: ReadingProgress {
    var shared = progress
    (shared.version, shared.pageName) = (version, pageName)
    return shared
  }

  /// Whether it was read to its end.
  package var isRead: Bool { progress.millionths ?? 0 >= ReadingProgress.whole }

  /// Whether it counts beside `other`: the later does, and of two of one time that of the device whose name comes behind.
  package func counts(beside other: ReadingRecord) -> Bool {
    let (own, others) = (progress, other.progress)
    return own.modified > others.modified
      || own.modified == others.modified
        && own.device.id.utf8.lexicographicallyPrecedes(others.device.id.utf8) == false
  }

  /// The word for another version of the content, or for the same with other sections. Its page is that of the same name; without one it is where as much was read. A place that
  /// names a page of the earlier version is left out.
  ///
  /// - Parameters:
  ///   - version: the version that is read now.
  ///   - names: the names of its pages, in their order; nil where it has none.
  package func carried(to version: ContentVersion, pages names: [String]?) -> ReadingProgress {
    guard let names, !names.isEmpty, let page = progress.page else { return progress }
    // The page keeps its number where it keeps its place.
    let isInPlace = pageName == nil || names.indices.contains(page) && names[page] == pageName
    guard version != self.version || !isInPlace else { return progress }
    var carried = progress
    if let page = pageName.flatMap({ names.firstIndex(of: $0) }) {
      carried.page = page
      carried.progression = ReadingProgress.progression(at: page, of: names.count)
    } else {
      let read = Int(clamping: ((progress.progression ?? 0) * Double(names.count)).rounded(.up))
      carried.page = min(names.count - 1, max(0, read - 1))
    }
    carried.locator = nil
    carried.position = nil
    return carried
  }
}
