import Crypto
import Foundation
import Testing

@Suite struct SHA256Tests {
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  @Test(
    "the examples for FIPS 180-4 come out",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", abc),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
          + "nopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
    ])
  func vectors(message: String, digest: String) {
    #expect(SHA256Digest.of(message.utf8).hexadecimal == digest)
  }

  @Test("a million times a, in uneven parts") func million() {
    let bytes = [UInt8](repeating: 0x61, count: 1_000_000)
    var hasher = SHA256Hasher()
    var position = 0
    var step = 1
    while position < bytes.count {
      let end = min(position + step, bytes.count)
      hasher.update(bytes.span.extracting(position..<end))
      position = end
      step = step * 3 + 1
    }
    #expect(
      hasher.finalize().hexadecimal == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("a copied hasher goes its own way, and asking does not disturb it") func copies() {
    let a: [UInt8] = [0x61]
    let bc: [UInt8] = [0x62, 0x63]
    var first = SHA256Hasher()
    first.update(a.span)
    var second = first
    #expect(first.finalize() == SHA256Digest.of(a))
    second.update(bc.span)
    #expect(first.finalize() == SHA256Digest.of(a))
    #expect(second.finalize().hexadecimal == Self.abc)
  }

  @Test("a digest is the same value in every form") func forms() throws {
    let digest = try #require(SHA256Digest(hexadecimal: Self.abc))
    #expect(SHA256Digest(digest.array) == digest)
    #expect(SHA256Digest(digest.bytes) == digest)
    #expect(digest.description == Self.abc)
    #expect(Set([digest, SHA256Digest.of("abc".utf8), SHA256Digest.of([])]).count == 2)
    let data = try JSONEncoder().encode([digest])
    #expect(String(decoding: data, as: UTF8.self) == "[\"\(Self.abc)\"]")
    #expect(try JSONDecoder().decode([SHA256Digest].self, from: data) == [digest])
  }

  @Test(
    "what is not 64 lower-case digits is no digest",
    arguments: [
      "", String(abc.dropLast()), abc + "0", abc.uppercased(), " " + abc.dropFirst(),
      "g" + abc.dropFirst(), "é" + abc.dropFirst(2),
    ])
  func malformed(text: String) {
    #expect(SHA256Digest(hexadecimal: text) == nil)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([SHA256Digest].self, from: JSONEncoder().encode([text]))
    }
  }

  @Test("a digest has 32 bytes, no more and no fewer", arguments: [0, 31, 33]) func length(count: Int) {
    #expect(SHA256Digest([UInt8](repeating: 0, count: count)) == nil)
  }
}
