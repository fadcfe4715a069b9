import ContentPackage

@testable import ContentPacking

/// The documents in which comic books and EPUBs describe themselves: what is taken from them is one line of text, a number, or a path
/// within the publication.
enum PublicationProperties {
  static func checkComic(_ bytes: [UInt8]) -> String? {
    for document in ComicDocument.allCases {
      guard let info = document.read(bytes) else { continue }
      guard document.read(bytes) == info else { return "\(document.rawValue) is read otherwise than before" }
      for text in [info.title, info.series, info.number].compactMap(\.self) where !isLine(text) {
        return "\(document.rawValue): \(text.debugDescription) is no line"
      }
    }
    return nil
  }

  /// The documents stand one behind the other, with a NUL between: the container, the package document, a page.
  static func checkEPUB(_ bytes: [UInt8]) -> String? {
    let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
    var asked: [String] = []
    func content(_ path: String) -> [UInt8]? {
      asked.append(path)
      let index = min(asked.count, parts.count) - 1
      return parts[index]
    }
    let found = EPUBMetadata.read(content)
    guard asked.count <= 3 else { return "\(asked.count) documents are asked for" }
    guard let found else { return nil }
    if let title = found.title, !isLine(title) { return "\(title.debugDescription) is no line" }
    // The path of the package document is the archive's word; the others follow from it, and lead nowhere outside.
    guard let base = asked.dropFirst().first, isWithin(base) else { return nil }
    for path in found.readingOrder + [found.cover].compactMap(\.self) where !isWithin(path) {
      return "\(path.debugDescription) leads out of the publication"
    }
    return nil
  }

  private static func isLine(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy { $0 != "\n" && $0 != "\r" && $0 != "\t" && $0.value != 0 }
      && text.first != " " && text.last != " " && text.utf8.count <= XMLReader.maximumTextLength + 4096
  }

  private static func isWithin(_ path: String) -> Bool {
    !path.hasPrefix("/") && !path.split(separator: "/").contains("..")
  }
}
