internal import COpenSSL

/// The 32 bytes of a SHA-256. As text, and in JSON, 64 lower-case hexadecimal digits.
public struct SHA256Digest: Hashable, Sendable {
  public typealias Bytes = InlineArray<32, UInt8>

  // Four words rather than an array: comparing, hashing and storing them costs no allocation.
  private var words: (UInt64, UInt64, UInt64, UInt64)

  public static let length = 32

  public init(_ bytes: Bytes) {
    func word(_ index: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[index * 8 + $1]) }
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Nil unless `bytes` are exactly 32.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    var inline = Bytes(repeating: 0)
    for (index, byte) in bytes.enumerated() { inline[index] = byte }
    self.init(inline)
  }

  /// Nil unless `text` is exactly 64 lower-case hexadecimal digits.
  public init?(hexadecimal text: some StringProtocol) {
    self.init(hexadecimal: Array(text.utf8).span)
  }

  /// Nil unless `text` is exactly 64 lower-case hexadecimal digits in ASCII.
  public init?(hexadecimal text: Span<UInt8>) {
    guard text.count == 64 else { return nil }
    var bytes = Bytes(repeating: 0)
    for index in 0..<32 {
      guard let high = Hexadecimal.value(of: text[index * 2]),
        let low = Hexadecimal.value(of: text[index * 2 + 1])
      else { return nil }
      bytes[index] = high << 4 | low
    }
    self.init(bytes)
  }

  public var bytes: Bytes {
    var bytes = Bytes(repeating: 0)
    for index in 0..<8 {
      let shift = UInt64(56 - index * 8)
      bytes[index] = UInt8(truncatingIfNeeded: words.0 >> shift)
      bytes[index + 8] = UInt8(truncatingIfNeeded: words.1 >> shift)
      bytes[index + 16] = UInt8(truncatingIfNeeded: words.2 >> shift)
      bytes[index + 24] = UInt8(truncatingIfNeeded: words.3 >> shift)
    }
    return bytes
  }

  public var array: [UInt8] {
    let bytes = bytes
    return bytes.indices.map { bytes[$0] }
  }

  public var hexadecimal: String { Hexadecimal.encode(array) }

  public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool { left.words == right.words }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }

  /// The digest of `bytes`.
  public static func of(_ bytes: some Collection<UInt8>) -> SHA256Digest {
    var hasher = SHA256Hasher()
    hasher.update(Array(bytes).span)
    return hasher.finalize()
  }
}

extension SHA256Digest: CustomStringConvertible {
  public var description: String { hexadecimal }
}

extension SHA256Digest: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let digest = SHA256Digest(hexadecimal: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not 64 lower-case hexadecimal digits")
    }
    self = digest
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hexadecimal)
  }
}

/// A running SHA-256. A plain value: copying it forks the computation, which costs 112 bytes and no allocation.
@safe
public struct SHA256Hasher: Sendable {
  private var state: SHA256_CTX

  public init() {
    state = SHA256_CTX()
    unsafe check(SHA256_Init(&state))
  }

  /// A hasher that has read `bytes`.
  init(startingWith bytes: [UInt8]) {
    self.init()
    update(bytes.span)
  }

  public mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe check(SHA256_Update(&state, bytes.baseAddress, bytes.count))
    }
  }

  /// The digest of everything so far; the hasher can go on.
  public func finalize() -> SHA256Digest {
    var copy = self
    var digest = SHA256Digest.Bytes(repeating: 0)
    var span = digest.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { bytes in
      unsafe check(SHA256_Final(bytes.baseAddress, &copy.state))
    }
    return SHA256Digest(digest)
  }

  // With a state of our own these three cannot fail.
  private func check(_ result: Int32) {
    precondition(result == 1, "libcrypto refused a SHA-256 step")
  }
}
