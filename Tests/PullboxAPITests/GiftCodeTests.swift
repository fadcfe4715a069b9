import PullboxAPI
import Testing

@Suite("Gift codes")
struct GiftCodeTests {
  @Test("a code is letters, digits and hyphens, and small letters count as capitals")
  func spelling() {
    #expect(GiftCode("0a1b-2c3d")?.description == "0A1B-2C3D")
    #expect(GiftCode("summer") == GiftCode("SUMMER"))
    #expect(GiftCode("summer") != GiftCode("SUMMER-"))
    #expect(GiftCode("-")?.description == "-")
  }

  @Test("a code has 1 to 64 characters")
  func lengths() {
    #expect(GiftCode("") == nil)
    for count in 1...64 { #expect(GiftCode(String(repeating: "z", count: count)) != nil, "\(count)") }
    #expect(GiftCode(String(repeating: "z", count: 65)) == nil)
  }

  @Test("of the characters of ASCII those of a code, and no others, make one; of all others none does")
  func characters() throws {
    for scalar in UInt8(0)..<0x80 {
      let character = Character(Unicode.Scalar(scalar))
      let isAllowed = character.isLetter || character.isNumber || character == "-"
      #expect((GiftCode("A\(character)") != nil) == isAllowed, "\(scalar)")
    }
    for text in ["é", "ß", "１", "\u{212A}", "\u{17F}", "A\u{301}", "Ａ", "٣", "–"] {
      #expect(GiftCode(text) == nil, "\(text)")
    }
  }
}
