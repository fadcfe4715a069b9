/// The file name in a `Content-Disposition` (RFC 6266).
package enum ContentDisposition {
  /// The value of `filename`, a token or a quoted string; nil without one. At most 255 bytes, without a path.
  package static func filename(_ field: String) -> String? {
    for parameter in field.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, trimmed(parts[0]).lowercased() == "filename" else { continue }
      var name = trimmed(parts[1])
      if name.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") { name = name.dropFirst().dropLast() }
      guard (1...255).contains(name.utf8.count), name != ".", name != "..",
        !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x22 || $0 == 0x2F || $0 == 0x5C })
      else { return nil }
      return String(name)
    }
    return nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
