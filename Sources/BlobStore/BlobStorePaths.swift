import Crypto

/// Where things lie in a blob store's directory.
struct BlobStorePaths: Sendable {
  let blobs: String
  let incoming: String

  init(_ directory: String) {
    blobs = "\(directory)/blobs"
    incoming = "\(directory)/incoming"
  }

  /// The first two digits are a directory, so that none grows too large.
  func blob(_ digest: SHA256Digest) -> String {
    let text = digest.hexadecimal
    return "\(blobs)/\(text.prefix(2))/\(text.dropFirst(2))"
  }

  func incomingFile(_ identifier: String) -> String { "\(incoming)/\(identifier)" }

  /// Says how much of the incoming file is on the device. No identifier has a dot, so the names cannot meet.
  func durableLength(_ identifier: String) -> String {
    "\(incoming)/\(identifier)\(Self.durableLengthSuffix)"
  }

  static let durableLengthSuffix = ".durable"

  /// 1 to 128 of `A-Z a-z 0-9 _ -`: what can be a file's name and a part of a URL.
  static func isIdentifier(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
        default: false
        }
      }
  }
}
