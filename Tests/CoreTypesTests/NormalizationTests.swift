import CoreTypes
import Testing

/// The forms of UAX #15, by its examples.
@Suite struct NormalizationTests {
  private func values(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

  @Test(
    "a character and its marks are one in form C, and apart in form D",
    arguments: [
      ([0xC5], [0xC5], [0x41, 0x30A]), ([0x212B], [0xC5], [0x41, 0x30A]), ([0x2126], [0x3A9], [0x3A9]),
      ([0x1E9B, 0x323], [0x1E9B, 0x323], [0x17F, 0x323, 0x307]),
      ([0xD55C], [0xD55C], [0x1112, 0x1161, 0x11AB]),
      ([0x304B, 0x3099], [0x304C], [0x304B, 0x3099]), ([0x41], [0x41], [0x41]),
    ])
  func forms(given: [UInt32], composed: [UInt32], decomposed: [UInt32]) {
    let text = String(String.UnicodeScalarView(given.compactMap(Unicode.Scalar.init)))
    #expect(values(text.composed) == composed)
    #expect(values(text.decomposed) == decomposed)
  }
}
