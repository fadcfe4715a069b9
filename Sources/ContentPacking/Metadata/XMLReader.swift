import ContentPackage
import Foundation
import FoundationXML

/// Reads a small XML document of a stranger's: UTF-8 only, elements by their local names, with bounds. There is nothing to
/// expand and nothing to fetch: a document type is cut out before anything is parsed, and one that declares anything is
/// refused.
final class XMLReader: NSObject, XMLParserDelegate {
  enum Event {
    case start(attributes: [String: String])
    /// `text` is what stood in the element since its last child, without white space around it.
    case end(text: String)
  }

  static let maximumDepth = 64
  static let maximumElements = 200_000
  static let maximumTextLength = 4096

  /// Local names from the root to the element that the event is about.
  typealias Handler = (_ path: [String], _ event: Event) -> Void

  private let handle: Handler
  private var path: [String] = []
  private var text = ""
  private var count = 0
  private var hasFailed = false

  private init(_ handle: @escaping Handler) {
    self.handle = handle
  }

  /// False when `bytes` are no such document; what was told of it until then is worth nothing.
  static func read(_ bytes: [UInt8], _ handle: @escaping Handler) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0),
      let document = withoutDocumentType(text)
    else { return false }
    let parser = XMLParser(data: Data(document.utf8))
    parser.shouldResolveExternalEntities = false
    let reader = XMLReader(handle)
    parser.delegate = reader
    // parse() can answer true for a document that it repaired on the way.
    return parser.parse() && parser.parserError == nil && !reader.hasFailed && reader.count > 0
  }

  private static func withoutDocumentType(_ text: String) -> String? {
    guard let start = text.range(of: "<!DOCTYPE") else { return text.contains("<!ENTITY") ? nil : text }
    guard let end = text[start.upperBound...].firstIndex(of: ">"),
      !text[start.upperBound..<end].contains("[")
    else { return nil }
    var rest = text
    rest.removeSubrange(start.lowerBound...end)
    return rest.contains("<!DOCTYPE") || rest.contains("<!ENTITY") ? nil : rest
  }

  private static func localName(_ name: String) -> String {
    name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    count += 1
    guard path.count < Self.maximumDepth, count <= Self.maximumElements else {
      hasFailed = true
      return parser.abortParsing()
    }
    path.append(Self.localName(name))
    text = ""
    handle(path, .start(attributes: attributes))
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) {
    if text.utf8.count < Self.maximumTextLength { text += characters }
  }

  func parser(_ parser: XMLParser, foundCDATA data: Data) {
    if text.utf8.count < Self.maximumTextLength { text += String(decoding: data, as: UTF8.self) }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    guard !path.isEmpty, !hasFailed else { return }
    handle(path, .end(text: text.trimmingCharacters(in: .whitespacesAndNewlines)))
    path.removeLast()
    text = ""
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    hasFailed = true
  }
}
