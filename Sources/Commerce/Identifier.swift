/// The rule that the project's identifiers share.
enum Identifier {
  /// 1 to `maximumLength` characters of `A-Z a-z 0-9 . _ -`, the first no dot.
  static func isValid(_ text: String, maximumLength: Int) -> Bool {
    guard (1...maximumLength).contains(text.utf8.count), text.utf8.first != 0x2E else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
      default: false
      }
    }
  }
}
