import ContentPackage
import Foundation

/// What is read of an EPUB (versions 2 and 3): its title, and its documents in reading order.
struct EPUBMetadata: Hashable, Sendable {
  static let containerPath = "META-INF/container.xml"

  var title: String?
  /// Paths within the publication, in the order of the spine.
  var readingOrder: [String] = []
  var cover: String?

  /// `content` gives the bytes of the file at a path, nil when there is none, or it is too long to be read. Nil when the
  /// container or its package document is missing or is none.
  static func read(_ content: (String) throws -> [UInt8]?) rethrows -> EPUBMetadata? {
    guard let container = try content(containerPath), let path = packagePath(in: container),
      let document = try content(path)
    else { return nil }
    return PackageDocument(document).map { $0.publication(at: path) }
  }

  /// Where the first rendition's package document lies.
  private static func packagePath(in container: [UInt8]) -> String? {
    var found: String?
    let isWellFormed = XMLReader.read(container) { path, event in
      guard found == nil, path == ["container", "rootfiles", "rootfile"], case .start(let attributes) = event
      else { return }
      found = attributes["full-path"]
    }
    return isWellFormed ? found : nil
  }

  /// An OPF document.
  private struct PackageDocument {
    private var title: String?
    private var items: [String: (address: String, properties: String)] = [:]
    private var spine: [String] = []
    private var coverItem: String?

    init?(_ bytes: [UInt8]) {
      var (title, coverItem): (String?, String?) = (nil, nil)
      var items: [String: (address: String, properties: String)] = [:]
      var spine: [String] = []
      let isWellFormed = XMLReader.read(bytes) { path, event in
        switch (path, event) {
        case (["package", "metadata", "title"], .end(let text)):
          if title == nil, !text.isEmpty { title = text }
        case (["package", "metadata", "meta"], .start(let attributes)) where attributes["name"] == "cover":
          coverItem = attributes["content"]
        case (["package", "manifest", "item"], .start(let attributes)):
          guard let id = attributes["id"], let address = attributes["href"] else { return }
          items[id] = (address, attributes["properties"] ?? "")
        case (["package", "spine", "itemref"], .start(let attributes)):
          if let id = attributes["idref"] { spine.append(id) }
        default: break
        }
      }
      guard isWellFormed else { return nil }
      (self.title, self.items, self.spine, self.coverItem) = (title, items, spine, coverItem)
    }

    func publication(at path: String) -> EPUBMetadata {
      let folder = path.split(separator: "/").dropLast()
      func resolve(_ address: String) -> String? { Self.path(address, from: folder) }
      let named = items.values.first { $0.properties.split(separator: " ").contains("cover-image") }
      let cover = named ?? coverItem.flatMap { items[$0] }
      return EPUBMetadata(
        title: title, readingOrder: spine.compactMap { items[$0].flatMap { resolve($0.address) } },
        cover: cover.flatMap { resolve($0.address) })
    }

    /// The path that a relative address (RFC 3986 §5.2, without query and fragment) leads to; nil when it leads out.
    private static func path(_ address: String, from folder: ArraySlice<Substring>) -> String? {
      let path = address.prefix { $0 != "#" && $0 != "?" }
      guard !path.hasPrefix("/"), !path.contains(":"), let decoded = String(path).removingPercentEncoding
      else {
        return nil
      }
      var segments = folder
      for segment in decoded.split(separator: "/") {
        switch segment {
        case ".": break
        case "..": if segments.popLast() == nil { return nil }
        default: segments.append(segment)
        }
      }
      return segments.joined(separator: "/")
    }
  }
}
