import SystemCalls
import Testing

@Suite struct TextConversionTests {
  @Test("bytes of code page 932 are a text, and bytes that are none in it are not")
  func shiftJIS() {
    #expect(TextConversion.decode([0x96, 0x9F, 0x89, 0xE6, 0x31], from: "CP932") == "漫画1")
    #expect(TextConversion.decode([0xB6, 0xDE], from: "CP932") == "ｶﾞ")
    #expect(TextConversion.decode([0x87, 0x40], from: "CP932") == "①")
    #expect(TextConversion.decode([0x96], from: "CP932") == nil, "half a character")
    #expect(TextConversion.decode([0x31, 0xFD, 0x31], from: "CP932") == nil)
    #expect(TextConversion.decode([], from: "CP932") == "")
  }

  @Test("an encoding that there is not has no texts") func unknown() {
    #expect(TextConversion.decode([0x31], from: "no-such-encoding") == nil)
  }
}
