import Crypto
import Testing

@Suite struct ChecksumTests {
  /// FIPS 180-4's example: the digests of `abc`.
  @Test(
    "the standard's example has the standard's digests",
    arguments: [
      (ChecksumAlgorithm.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        .sha512,
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
      ),
    ])
  func example(algorithm: ChecksumAlgorithm, expected: String) {
    #expect(Hexadecimal.encode(Checksum.of("abc".utf8, algorithm).bytes) == expected)
  }

  @Test("bytes that came in parts add up to the same, and asking in between changes nothing")
  func parts() {
    for algorithm in ChecksumAlgorithm.allCases {
      let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
      var hasher = ChecksumHasher(algorithm)
      let (first, second) = (Array(bytes[..<333]), Array(bytes[333...]))
      hasher.update(first.span)
      #expect(hasher.finalize() == .of(first, algorithm))
      hasher.update(second.span)
      #expect(hasher.finalize() == .of(bytes, algorithm))
    }
  }

  @Test("a digest of another length is none") func length() {
    #expect(Checksum(.sha1, [UInt8](repeating: 0, count: 32)) == nil)
    #expect(Checksum(.sha256, []) == nil)
  }
}
