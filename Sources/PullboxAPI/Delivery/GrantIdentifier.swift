public import Commerce
internal import Crypto

/// Names a grant. 128 random bits as 32 hexadecimal digits: whoever knows it may renew its ticket, so it cannot be
/// guessed, and it says nothing about anybody.
public struct GrantIdentifier: Hashable, Sendable, TextCodable, CustomStringConvertible {
  public let text: String

  public init?(_ text: String) {
    guard Hexadecimal.decode(text)?.count == 16 else { return nil }
    self.text = text
  }

  /// Nil unless `bytes` are 16.
  public init?(_ bytes: [UInt8]) {
    self.init(Hexadecimal.encode(bytes))
  }

  public var bytes: [UInt8] { Hexadecimal.decode(text) ?? [] }

  public var description: String { text }
}
