/// A key, a certificate or other octets in the textual encoding of RFC 7468: base 64 in lines of 64 characters between
/// a `BEGIN` and an `END` line that bear a label.
///
/// ```swift
/// let certificates = PEMDocument.documents(labeled: "CERTIFICATE", in: text)
/// let text = PEMDocument(label: "PUBLIC KEY", bytes: encodedKey).text
/// ```
public struct PEMDocument: Hashable, Sendable {
  /// The type of the octets, in capitals: `CERTIFICATE`, `PRIVATE KEY`.
  public let label: String
  /// The octets between the two lines, decoded.
  public let bytes: [UInt8]

  /// - Parameters:
  ///   - label: what the octets are; written as it is given.
  ///   - bytes: any number of octets.
  public init(label: String, bytes: [UInt8]) {
    self.label = label
    self.bytes = bytes
  }

  /// The only document of `text`. Nil when `text` holds another label, several documents, or anything besides blank
  /// lines.
  public init?(only label: String, in text: String) {
    let lines = Self.lines(of: text)
    guard lines.first == Self.begin(label), lines.last == Self.end(label),
      let documents = Self.documents(labeled: label, in: text), documents.count == 1
    else { return nil }
    self = documents[0]
  }

  /// The document as text, with a line feed at its end.
  public var text: String {
    let characters = Array(Base64.encode(bytes).utf8)
    let lines = stride(from: 0, to: characters.count, by: Self.lineLength).map { start in
      String(decoding: characters[start..<min(start + Self.lineLength, characters.count)], as: UTF8.self)
    }
    return ([Self.begin(label)] + lines + [Self.end(label)]).joined(separator: "\n") + "\n"
  }

  /// Every document of that label in `text`, in order; other labels and the text between documents are passed over.
  /// Nil when one of them is not base 64, or begins inside another.
  public static func documents(labeled label: String, in text: String) -> [PEMDocument]? {
    var documents: [PEMDocument] = []
    var encoded: String?
    for line in lines(of: text) {
      if line == begin(label) {
        guard encoded == nil else { return nil }
        encoded = ""
      } else if line == end(label) {
        guard let bytes = encoded.flatMap({ Base64.decode($0) }) else { return nil }
        documents.append(PEMDocument(label: label, bytes: bytes))
        encoded = nil
      } else {
        encoded?.append(contentsOf: line)
      }
    }
    return documents
  }

  private static let lineLength = 64

  private static func begin(_ label: String) -> String { "-----BEGIN \(label)-----" }

  private static func end(_ label: String) -> String { "-----END \(label)-----" }

  private static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }.map { String($0) }
  }
}
