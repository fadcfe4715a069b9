internal import COpenSSL

/// The 32 bytes of a SHA-256 (FIPS 180-4): the name of a package, a piece, a file or a manifest. It is held in four words,
/// so that it costs no allocation. As text, and in JSON, it is 64 lower-case hexadecimal digits.
///
/// ```swift
/// let digest = SHA256Digest.of(bytes)
/// guard digest == SHA256Digest(hexadecimal: "2cf24dba…") else { … }
/// ```
public struct SHA256Digest: Hashable, Sendable {
  /// The digest's bytes in order, without an allocation.
  public typealias Bytes = InlineArray<32, UInt8>

  // Four words rather than an array: comparing, hashing and storing them costs no allocation.
  private var words: (UInt64, UInt64, UInt64, UInt64)

  /// Bytes of every SHA-256: 32.
  public static let length = 32

  /// Takes 32 bytes for a digest.
  public init(_ bytes: Bytes) {
    func word(_ index: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[index * 8 + $1]) }
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Nil unless `bytes` are exactly 32.
  public init?(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.length else { return nil }
    self.init(Bytes { bytes[$0] })
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

  /// The digest's bytes in order.
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

  /// The digest's bytes in an array; ``bytes`` costs no allocation.
  public var array: [UInt8] {
    let bytes = bytes
    return unsafe bytes.span.withUnsafeBufferPointer { unsafe Array($0) }
  }

  /// 64 lower-case digits.
  public var hexadecimal: String {
    let bytes = bytes
    return Hexadecimal.encode(bytes.span)
  }

  /// Whether the bytes are equal. The time it takes tells nothing that must stay secret: see
  /// ``equalInConstantTime(_:_:)`` for what does.
  public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool { left.words == right.words }

  /// Hashes half of the digest, whose bits are as good as random.
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
  /// The 64 digits.
  public var description: String { hexadecimal }
}

extension SHA256Digest: Codable {
  /// Reads the text. Throws `DecodingError` when it is none of this type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let digest = SHA256Digest(hexadecimal: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not 64 lower-case hexadecimal digits")
    }
    self = digest
  }

  /// Writes the text as a JSON string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hexadecimal)
  }
}

/// A running SHA-256. A plain value: copying it forks the computation, which costs 112 bytes and no allocation.
@safe
public struct SHA256Hasher: Sendable {
  private var state: SHA256_CTX

  /// Starts with no bytes.
  public init() {
    state = SHA256_CTX()
    unsafe Libcrypto.require(SHA256_Init(&state) == 1, "compute SHA-256")
  }

  /// A hasher that has read `bytes`.
  init(startingWith bytes: [UInt8]) {
    self.init()
    update(bytes.span)
  }

  /// Hashes the next bytes, any number of them.
  public mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe Libcrypto.require(SHA256_Update(&state, bytes.baseAddress, bytes.count) == 1, "compute SHA-256")
    }
  }

  /// The digest of everything so far; more bytes may follow.
  public func finalize() -> SHA256Digest {
    var copy = self
    var digest = SHA256Digest.Bytes(repeating: 0)
    var span = digest.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { bytes in
      unsafe Libcrypto.require(SHA256_Final(bytes.baseAddress, &copy.state) == 1, "compute SHA-256")
    }
    return SHA256Digest(digest)
  }
}
