import Crypto

/// `Content-Digest` and `Repr-Digest` (RFC 9530).
enum DigestField {
  /// The strongest digest that is known here; nil where the field is absent, malformed, or has only others: then it is
  /// ignored, as §2 has it.
  static func checksum(_ lines: [String]) -> Checksum? {
    let members = StructuredField.dictionary(lines) ?? [:]
    let known: [(String, ChecksumAlgorithm)] = [("sha-512", .sha512), ("sha-256", .sha256)]
    return known.lazy.compactMap { name, algorithm in
      guard case .bytes(let bytes)? = members[name] else { return nil }
      return Checksum(algorithm, bytes)
    }.first
  }

  /// The SHA-256 alone: the one digest of a whole upload that is computed here.
  static func sha256(_ lines: [String]) -> SHA256Digest? {
    guard case .bytes(let bytes)? = StructuredField.dictionary(lines)?["sha-256"] else { return nil }
    return SHA256Digest(bytes)
  }
}
