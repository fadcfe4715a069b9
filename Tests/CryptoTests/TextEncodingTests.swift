import Crypto
import Testing

@Suite struct TextEncodingTests {
  @Test(
    "the test vectors of RFC 4648 section 10 come out",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func sectionTen(bytes: String, text: String) {
    #expect(Base64.encode(Array(bytes.utf8)) == text)
    #expect(Base64.decode(text) == Array(bytes.utf8))
    let unpadded = String(text.prefix { $0 != "=" })
    #expect(Base64.encode(Array(bytes.utf8), .url) == unpadded)
    #expect(Base64.decode(unpadded, .url) == Array(bytes.utf8))
    #expect(Base64.decode(text, .url) == Array(bytes.utf8))
  }

  @Test("the two alphabets differ in two characters") func alphabets() {
    let bytes: [UInt8] = [0xFB, 0xEF, 0xFF]
    #expect(Base64.encode(bytes) == "++//")
    #expect(Base64.encode(bytes, .url) == "--__")
    #expect(Base64.decode("++//", .url) == nil)
    #expect(Base64.decode("--__") == nil)
  }

  @Test("every byte in every place comes back") func roundTrip() {
    for length in 1...4 {
      for byte in UInt8.min...UInt8.max {
        let bytes = [UInt8](repeating: byte, count: length)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decode(Base64.encode(bytes, .url), .url) == bytes)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes)) == bytes)
      }
    }
  }

  @Test(
    "text that is not base 64 is refused: foreign characters, wrong padding, bits that are not zero",
    arguments: [
      "Z", "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "=", "==", "====", "Z===", "Zm9v=", "Zm9v==", "Zm9v====",
      "Zg==Zg==", "Zh==", "Zm9=", "Zm9v\n", " Zm9v", "Zm 9", "Zm9é", "Zm-v",
    ])
  func malformed(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(
    "line ends of what a client sends are passed over wherever they stand",
    arguments: ["Zm9v\nYg==\n", "Zm9v\r\nYg==\r\n", "Z\rm9vYg=\n=", "\n\nZm9vYg=="])
  func lines(text: String) {
    #expect(Base64.decodeLines(text) == Array("foob".utf8))
    #expect(Base64.decode(text) == nil)
    #expect(Base64.withoutLineEnds(text) == "Zm9vYg==")
  }

  @Test(
    "nothing but line ends is passed over",
    arguments: ["Zm9v Yg==", "Zm9v\tYg==", "Zm9v\u{B}Yg==", "Zm9v\u{2028}Yg==", "Zm9vYg\n", "Zm-v\n", "Z\n"])
  func onlyLines(text: String) {
    #expect(Base64.decodeLines(text) == nil)
  }

  @Test("a foreign character is found at every place, whatever the length") func foreignEverywhere() throws {
    for length in 1...16 {
      let text = Base64.encode((0..<length).map { UInt8($0 * 37 & 0xFF) }, .url)
      #expect(try #require(Base64.decode(text, .url)).count == length)
      for place in 0..<text.utf8.count {
        for foreign in [UInt8(ascii: "+"), UInt8(ascii: "="), 0x00, 0x7F, 0x80, 0xC0, 0xFF] {
          var bytes = Array(text.utf8)
          bytes[place] = foreign
          // A sign of padding may stand at the end, if nothing else does behind it.
          if foreign == UInt8(ascii: "="), place == bytes.count - 1 { continue }
          var output = [UInt8](repeating: 0, count: 64)
          var span = output.mutableSpan
          #expect(Base64.decode(bytes.span, .url, into: &span) == nil)
        }
      }
    }
  }

  @Test(
    "without padding in base64url a rest of one character is refused", arguments: ["Z", "Zm9vY", "Zh", "Zg="])
  func malformedURL(text: String) {
    #expect(Base64.decode(text, .url) == nil)
  }

  @Test("decoding in place says how much it wrote, and refuses a buffer that is too short") func inPlace() {
    let text = Array("Zm9vYmE".utf8)
    var exact = [UInt8](repeating: 0, count: 5)
    var span = exact.mutableSpan
    #expect(Base64.decode(text.span, .url, into: &span) == 5)
    #expect(exact == Array("fooba".utf8))
    var short = [UInt8](repeating: 0, count: 4)
    var shortSpan = short.mutableSpan
    #expect(Base64.decode(text.span, .url, into: &shortSpan) == nil)
    #expect(short.count == 4)
  }

  @Test("hexadecimal is lower-case and whole bytes", arguments: ["0", "0A", "0g", "abc", "é0"])
  func hexadecimal(text: String) {
    #expect(Hexadecimal.decode(text) == nil)
    #expect(Hexadecimal.encode([0, 0x0F, 0xA5, 0xFF]) == "000fa5ff")
    #expect(Hexadecimal.decode("000fa5ff") == [0, 0x0F, 0xA5, 0xFF])
  }

  @Test("random bytes and tokens have their length and do not repeat") func random() {
    #expect(RandomBytes.make(0) == [])
    #expect(RandomBytes.make(16).count == 16)
    #expect(RandomBytes.make(16) != RandomBytes.make(16))
    #expect(Base64.decode(RandomBytes.token(), .url)?.count == 24)
    #expect(Base64.decode(RandomBytes.token(bits: 256), .url)?.count == 32)
  }
}
