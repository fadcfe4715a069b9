import Crypto

/// Textual encoding of keys and certificates (RFC 7468).
enum PEM {
  static func encode(_ label: String, _ bytes: [UInt8]) -> String {
    let text = Array(Base64.encode(bytes).utf8)
    let lines = stride(from: 0, to: text.count, by: 64).map { start in
      String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self)
    }
    return "-----BEGIN \(label)-----\n" + lines.map { $0 + "\n" }.joined() + "-----END \(label)-----\n"
  }

  /// The bytes of every block with that label, in order.
  static func decode(_ label: String, in text: String) throws -> [[UInt8]] {
    var blocks: [[UInt8]] = []
    var block: String?
    for line in text.split(whereSeparator: \.isNewline) {
      if line == "-----BEGIN \(label)-----" {
        block = ""
      } else if line == "-----END \(label)-----" {
        guard let base64 = block, let bytes = Base64.decode(base64) else {
          throw ReceiptError.malformed("a \(label) block is not base 64")
        }
        blocks.append(bytes)
        block = nil
      } else if block != nil {
        block?.append(contentsOf: line)
      }
    }
    return blocks
  }
}
