import ContentPackage
import Foundation
import FoundationXML

/// Reads a small XML document of a stranger's: elements by their local names, with bounds. There is nothing to expand and
/// nothing to fetch: ``MarkupText`` cuts a document type out before anything is parsed, and refuses one that declares anything.
final class XMLReader: NSObject, XMLParserDelegate {
  /// Elements come in document order; every start has its end, unless the reading fails.
  enum Event {
    /// An element begins; attributes have the names that the document has.
    case start(attributes: [String: String])
    /// `text` is what stood in the element and the elements in it, without white space around it.
    case end(text: String)
  }

  /// Elements within each other.
  static let maximumDepth = 64
  /// Elements of a document.
  static let maximumElements = 200_000
  /// Bytes after which an element's text is not added to.
  static let maximumTextLength = 4096

  /// Local names from the root to the element that the event is about.
  typealias Handler = (_ path: [String], _ event: Event) -> Void

  /// Called with each event, on the thread that reads.
  private let handle: Handler
  /// The local names of the elements that are open.
  private var path: [String] = []
  /// The texts of the elements that are open.
  private var texts: [String] = []
  /// The elements so far.
  private var count = 0
  /// Whether a bound was exceeded or the document is not well-formed.
  private var hasFailed = false

  /// A reader for one document.
  private init(_ handle: @escaping Handler) {
    self.handle = handle
  }

  /// False when `bytes` are no such document; what was told of it until then is worth nothing.
  static func read(_ bytes: [UInt8], _ handle: @escaping Handler) -> Bool {
    guard let document = MarkupText(bytes) else { return false }
    let parser = XMLParser(data: Data(document.bytes))
    parser.shouldResolveExternalEntities = false
    let reader = XMLReader(handle)
    parser.delegate = reader
    // parse() can answer true for a document that it repaired on the way.
    return parser.parse() && isHarmless(parser.parserError) && !reader.hasFailed && reader.count > 0
  }

  /// The part behind the last colon; prefixes are not resolved.
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
    texts.append("")
    handle(path, .start(attributes: attributes))
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) { append(characters) }

  func parser(_ parser: XMLParser, foundCDATA data: Data) { append(String(decoding: data, as: UTF8.self)) }

  /// Adds to the innermost element that is open. What exceeds the bound is dropped without a fault, in whole
  /// parts.
  private func append(_ characters: String) {
    guard let last = texts.indices.last, texts[last].utf8.count < Self.maximumTextLength else { return }
    texts[last] += characters
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    guard !path.isEmpty, !hasFailed, let text = texts.popLast() else { return }
    handle(path, .end(text: text.trimmingCharacters(in: .whitespacesAndNewlines)))
    path.removeLast()
    append(text)
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    if !Self.isHarmless(error) { hasFailed = true }
  }

  /// Prefixes that a document does not declare (XML_NS_ERR_UNDEFINED_NAMESPACE) mean nothing here: names are local.
  private static func isHarmless(_ error: (any Error)?) -> Bool {
    error.map { ($0 as NSError).code == 201 } ?? true
  }
}
