import Foundation
import FoundationXML

/// Reads a `ComicInfo.xml`. Only UTF-8 without a document type is looked at, so that there are no entities to expand and
/// nothing to fetch.
final class ComicInfoReader: NSObject, XMLParserDelegate {
  private static let maximumTextLength = 4096

  private var info = ComicInfo()
  private var path: [String] = []
  private var text = ""

  /// Nil when `bytes` are no such document.
  static func read(_ bytes: [UInt8]) -> ComicInfo? {
    guard let document = String(validating: bytes, as: UTF8.self), !document.utf8.contains(0),
      !document.contains("<!DOCTYPE"), !document.contains("<!ENTITY")
    else { return nil }
    let parser = XMLParser(data: Data(bytes))
    parser.shouldResolveExternalEntities = false
    let reader = ComicInfoReader()
    parser.delegate = reader
    // parse() can answer true for a document that it mended on the way.
    let isWellFormed = parser.parse() && parser.parserError == nil && !reader.hasFailed
    return isWellFormed && reader.isComicInfo ? reader.info : nil
  }

  private var isComicInfo = false
  private var hasFailed = false

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    path.append(name)
    text = ""
    if path == ["ComicInfo"] { isComicInfo = true }
    if path == ["ComicInfo", "Pages", "Page"], attributes["Type"] == "FrontCover", info.coverPage == nil {
      info.coverPage = attributes["Image"].flatMap { Int($0) }
    }
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    hasFailed = true
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) {
    if text.utf8.count < Self.maximumTextLength { text += characters }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    defer { path.removeLast() }
    guard path.count == 2 else { return }
    let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !value.isEmpty else { return }
    switch name {
    case "Title": info.title = value
    case "Series": info.series = value
    case "Number": info.number = value
    case "PageCount": info.pageCount = Int(value)
    default: break
    }
  }
}
