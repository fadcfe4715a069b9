/// The text form of keys (RFC 7468), as far as keys of 32 bytes need it.
enum PEMDocument {
  private static let lineLength = 64

  static func text(_ bytes: [UInt8], label: String) -> String {
    var lines = ["-----BEGIN \(label)-----"]
    var rest = Base64.encode(bytes)[...]
    while !rest.isEmpty {
      lines.append(String(rest.prefix(lineLength)))
      rest = rest.dropFirst(lineLength)
    }
    lines.append("-----END \(label)-----")
    return lines.joined(separator: "\n") + "\n"
  }

  /// What follows `prefix` in the one document of `text`; nil when it is another, or there is more.
  static func bytes(of text: String, label: String, prefix: [UInt8]) -> [UInt8]? {
    var lines = text.split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }
    guard lines.count >= 3, lines.removeFirst() == "-----BEGIN \(label)-----",
      lines.removeLast() == "-----END \(label)-----", let bytes = Base64.decode(lines.joined()),
      bytes.starts(with: prefix)
    else { return nil }
    return Array(bytes.dropFirst(prefix.count))
  }
}
