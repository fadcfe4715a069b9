import ContentPackage
import Foundation

/// The metadata of an EPUB (versions 2 and 3) that are read: its title, its cover, and its documents in
/// reading order.
struct EPUBMetadata: Hashable, Sendable {
  /// The path of the container (EPUB 3.3, OCF, "Container file").
  static let containerPath = "META-INF/container.xml"
  /// The content of the file `mimetype`.
  static let mediaType = "application/epub+zip"

  /// The main title; nil where the document has none.
  var title: String?
  /// Paths within the publication, in the order of the spine; those of linear content, unless there is none.
  var readingOrder: [String] = []
  /// The path of the picture on the cover; nil where none is named.
  var cover: String?

  /// `content` gives the bytes of the file at a path, nil when there is none, or it is too long to be read. Nil when the
  /// container or its package document is missing or is none. A package document without a cover that is a
  /// picture is read all the same.
  static func read(_ content: (String) throws -> [UInt8]?) rethrows -> EPUBMetadata? {
    guard let container = try content(containerPath), let path = packagePath(in: container),
      let document = try content(path), let package = EPUBPackageDocument(document)
    else { return nil }
    var publication = package.publication(at: path)
    // A page that shows the cover names the picture.
    if let cover = publication.cover, FileName(at: cover).promisedPicture == nil {
      publication.cover = try content(cover).flatMap { EPUBCoverPage.picture(in: $0, at: cover) }
    }
    return publication
  }

  /// The same publication in a folder, whose name ends with a slash. Paths are relative to the root of the
  /// EPUB before, and to that of the archive then.
  func moved(into folder: String) -> EPUBMetadata {
    EPUBMetadata(
      title: title, readingOrder: readingOrder.map { folder + $0 }, cover: cover.map { folder + $0 })
  }

  /// Where the first package document lies. The `media-type` of a root file may be missing. Nil for a
  /// container that is not well-formed.
  private static func packagePath(in container: [UInt8]) -> String? {
    var found: String?
    let isWellFormed = XMLReader.read(container) { path, event in
      guard found == nil, path == ["container", "rootfiles", "rootfile"], case .start(let attributes) = event,
        attributes["media-type"].map({ $0 == "application/oebps-package+xml" }) ?? true
      else { return }
      found = attributes["full-path"]
    }
    return isWellFormed ? found : nil
  }

  /// The path that a relative address (RFC 3986 §5.2, without query and fragment) in the document at `document` leads to;
  /// nil when it leads out.
  static func path(_ address: String, from document: String) -> String? {
    let path = address.collapsingWhiteSpace.prefix { $0 != "#" && $0 != "?" }
    guard !path.hasPrefix("/"), !path.contains(":"), let decoded = String(path).removingPercentEncoding
    else {
      return nil
    }
    var segments = document.split(separator: "/").dropLast()
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

/// The page of an EPUB that shows its cover.
enum EPUBCoverPage {
  /// The first picture in the page; nil when it has none.
  static func picture(in page: [UInt8], at path: String) -> String? {
    var found: String?
    let isWellFormed = XMLReader.read(page) { elements, event in
      guard found == nil, case .start(let attributes) = event else { return }
      switch elements.last {
      case "img": found = attributes["src"]
      case "image": found = attributes["href"] ?? attributes.first { $0.key.hasSuffix(":href") }?.value
      case "object": found = attributes["data"]
      default: break
      }
    }
    guard isWellFormed, let found else { return nil }
    return EPUBMetadata.path(found, from: path)
  }
}

/// An OPF document. Of EPUB 2 and 3 it has titles, manifest, spine, and cover; of EPUB 2 the guide as well.
struct EPUBPackageDocument {
  /// An entry of the manifest (EPUB 3.3 section 5.6): address, properties with spaces between them, media
  /// type.
  private struct Item {
    /// The address, relative to the package document.
    let address: String
    /// The properties, such as `cover-image`.
    let properties: String
    /// The media type.
    let mediaType: String
  }

  /// A title with the identifier that other elements refine it by.
  private struct Title {
    /// The identifier; nil where the element has none.
    let id: String?
    /// The text with single spaces.
    let text: String
  }

  /// A place in the spine.
  private struct Itemref {
    /// The identifier of an item.
    let item: String
    /// False for what is not read in its turn, such as notes and answers (EPUB 3.3 §5.7.2).
    let isLinear: Bool
  }

  /// The titles in the order of the document.
  private var titles: [Title] = []
  /// The title of which a `meta` says that it is the main one.
  private var mainTitle: String?
  /// By their identifiers; of two with the same one the last counts.
  private var items: [String: Item] = [:]
  /// The spine in its order.
  private var spine: [Itemref] = []
  /// The item, or the address, that a `meta` of EPUB 2 names as the cover.
  private var coverItem: String?
  /// Where the guide of EPUB 2 says that the cover is.
  private var coverReference: String?

  /// Nil when `bytes` are no such document.
  init?(_ bytes: [UInt8]) {
    var document = EPUBPackageDocument()
    var attributesOf: [String: String] = [:]
    let isWellFormed = XMLReader.read(bytes) { path, event in
      switch event {
      case .start(let attributes):
        if path.count == 3, path[1] == "metadata" { attributesOf = attributes }
        document.note(path, attributes)
      case .end(let text): document.note(path, text.collapsingWhiteSpace, attributesOf)
      }
    }
    guard isWellFormed else { return nil }
    self = document
  }

  /// A document without anything, which reading fills.
  private init() {}

  /// Takes what an element's attributes say. Of several covers the first counts.
  private mutating func note(_ path: [String], _ attributes: [String: String]) {
    switch path {
    case ["package", "metadata", "meta"] where attributes["name"]?.lowercased() == "cover":
      coverItem = coverItem ?? attributes["content"]
    case ["package", "manifest", "item"]:
      guard let id = attributes["id"], let address = attributes["href"] else { return }
      items[id] = Item(
        address: address, properties: attributes["properties"] ?? "",
        mediaType: attributes["media-type"] ?? "")
    case ["package", "spine", "itemref"]:
      guard let id = attributes["idref"] else { return }
      let isLinear = attributes["linear"]?.collapsingWhiteSpace.lowercased() != "no"
      spine.append(Itemref(item: id, isLinear: isLinear))
    case ["package", "guide", "reference"] where attributes["type"]?.lowercased() == "cover":
      coverReference = coverReference ?? attributes["href"]
    default: break
    }
  }

  /// Takes what an element's text says.
  private mutating func note(_ path: [String], _ text: String, _ attributes: [String: String]) {
    guard !text.isEmpty else { return }
    switch path {
    case ["package", "metadata", "title"]: titles.append(Title(id: attributes["id"], text: text))
    case ["package", "metadata", "meta"] where attributes["property"] == "title-type" && text == "main":
      mainTitle = mainTitle ?? attributes["refines"].map { String($0.drop { $0 == "#" }) }
    default: break
    }
  }

  /// Addresses become paths within the publication, and those that lead out of it are left out.
  ///
  /// - Parameter path: where the package document lies.
  func publication(at path: String) -> EPUBMetadata {
    let main = mainTitle.flatMap { id in titles.first { $0.id == id } }
    let linear = spine.filter(\.isLinear)
    // A book that has no linear document, which is an error, is read by all of them.
    let order = (linear.isEmpty ? spine : linear).map(\.item)
    return EPUBMetadata(
      title: (main ?? titles.first)?.text,
      readingOrder: order.compactMap { items[$0].flatMap { EPUBMetadata.path($0.address, from: path) } },
      cover: coverAddress.flatMap { EPUBMetadata.path($0, from: path) })
  }

  /// By the property of EPUB 3, else by the `meta` of EPUB 2, which some tools give an address instead of an item, else by the
  /// guide.
  private var coverAddress: String? {
    let named = items.values.filter {
      $0.properties.split(whereSeparator: \.isWhitespace).contains("cover-image")
    }
    .map(\.address).min()
    if let named { return named }
    if let coverItem {
      if let item = items[coverItem] { return item.address }
      if items.values.contains(where: { $0.address == coverItem }) { return coverItem }
    }
    return coverReference
  }
}
