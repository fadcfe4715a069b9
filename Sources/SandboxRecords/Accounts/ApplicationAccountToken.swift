/// A UUID by which an application names its own account.
package struct ApplicationAccountToken: Hashable, Sendable {
  /// In lower case.
  package let text: String

  /// Nil for what is no UUID in its text of 36 characters.
  package init?(_ text: String?) {
    guard let text, text.utf8.count == 36 else { return nil }
    for (index, byte) in text.utf8.enumerated() {
      let isDash = [8, 13, 18, 23].contains(index)
      guard isDash ? byte == 0x2D : Character(Unicode.Scalar(byte)).isHexDigit else { return nil }
    }
    self.text = text.lowercased()
  }
}
