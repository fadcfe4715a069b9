/// The name of a reader's key: 1 to 64 letters and digits of ASCII, in lower case. It is a part of addresses as it is.
public struct ReaderName: Hashable, Sendable, CustomStringConvertible {
  /// The name itself.
  public let description: String

  /// Nil unless `text` is such a name; capital letters are taken for small ones.
  public init?(_ text: String) {
    let name = text.lowercased()
    let isPlain = name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    guard (1...64).contains(name.utf8.count), isPlain else { return nil }
    description = name
  }
}
