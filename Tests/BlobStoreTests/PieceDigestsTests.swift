import BlobStore
import CoreTypes
import Crypto
import Testing

@Suite struct PieceDigestsTests {
  private static let mebibyte = 1 << 20

  @Test(
    "every piece and the whole have the digests of their bytes, however the bytes arrive",
    arguments: [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte, 2 * mebibyte + 17],
    [1 << 16, mebibyte, 3 * mebibyte, 999_983])
  func digests(length: Int, chunk: Int) {
    let bytes = Array(SampleBytes.all[..<length])
    var digests = PieceDigests()
    for start in stride(from: 0, to: length, by: chunk) {
      digests.update(bytes.span.extracting(start..<min(start + chunk, length)))
    }
    let received = digests.finalize()
    #expect(received.length == ByteCount(length))
    #expect(received.digest == SHA256Digest.of(bytes))
    let pieces = stride(from: 0, to: length, by: Self.mebibyte).map {
      SHA256Digest.of(bytes[$0..<min($0 + Self.mebibyte, length)])
    }
    #expect(received.pieces == pieces)
  }

  @Test("asking for the digests does not disturb what follows") func finalizeTwice() {
    let bytes = Array(SampleBytes.all[..<100])
    var digests = PieceDigests()
    digests.update(bytes.span.extracting(first: 40))
    #expect(digests.finalize().digest == SHA256Digest.of(bytes[..<40]))
    digests.update(bytes.span.extracting(droppingFirst: 40))
    #expect(digests.finalize().digest == SHA256Digest.of(bytes))
  }
}
