import PullboxAPI
import ServiceAPI
import Testing

@Suite("Diagnostic content")
struct DiagnosticContentTests {
  private func matches(_ bytes: [UInt8], at offset: Int64) -> Bool {
    DiagnosticContent.matches(bytes.span, at: offset)
  }

  @Test("a block begins with its number, and goes on with SplitMix64 of seed 0")
  func beginning() {
    // The generator's first outputs as its authors' reference code prints them.
    let noise: [UInt8] = [0xE2, 0x20, 0xA8, 0x39, 0x7B, 0x1D, 0xCD, 0xAF, 0x6E, 0x78, 0x9E, 0x6A, 0xA1, 0xB9]
    #expect(DiagnosticContent.bytes(in: 0..<22) == [0, 0, 0, 0, 0, 0, 0, 0] + noise)
    // 2^32 is 65,536 blocks.
    #expect(
      DiagnosticContent.bytes(in: 1 << 32..<1 << 32 + 22) == [0, 0, 0, 0, 0, 1, 0, 0] + noise)
  }

  @Test("a part is the same however it is cut")
  func parts() {
    let whole = DiagnosticContent.bytes(in: 65_000..<197_000)
    var put: [UInt8] = []
    var offset: Int64 = 65_000
    for length in [1, 530, 5, 3, 70_000, 61_461] as [Int64] {
      put += DiagnosticContent.bytes(in: offset..<offset + length)
      offset += length
    }
    #expect(offset == 197_000)
    #expect(put == whole)
    #expect(matches(whole, at: 65_000))
  }

  @Test("bytes at a place that runs past the largest number do not match")
  func pastTheEnd() {
    #expect(!matches([1, 2, 3], at: .max - 1))
  }

  @Test("bytes of another offset do not match, also where the distance is a power of two")
  func elsewhere() {
    let offset: Int64 = 1 << 31 + 70_000
    let bytes = DiagnosticContent.bytes(in: offset..<offset + 65_536)
    #expect(matches(bytes, at: offset))
    for distance in [1, 8, 65_536, 1 << 20, 1 << 30, 1 << 31, 1 << 32] as [Int64] {
      #expect(!matches(bytes, at: offset + distance), "\(distance)")
    }
    var changed = bytes
    changed[40_000] ^= 1
    #expect(!matches(changed, at: offset))
  }
}
