import Digests

/// Names a download on this device: 64 random bits as 16 hexadecimal digits. Also the name of its staging folder.
struct DownloadIdentifier: Hashable, Sendable, CustomStringConvertible {
  let text: String

  /// Nil unless `text` is 16 lower-case hexadecimal digits.
  init?(_ text: String) {
    guard Hexadecimal.decode(text)?.count == 8 else { return nil }
    self.text = text
  }

  private init(random bytes: [UInt8]) {
    text = Hexadecimal.encode(bytes)
  }

  static func random() -> DownloadIdentifier { DownloadIdentifier(random: RandomBytes.make(8)) }

  var description: String { text }
}
