import Testing

@testable import ContentPacking

@Suite("Markup of strangers")
struct MarkupTextTests {
  private func title(_ bytes: [UInt8]) -> String? {
    ComicInfoReader.read(bytes).map { PublicationMetadata(pages: [], comicInfo: $0).title ?? "" }
  }

  private func title(of content: String, _ declaration: String = "<?xml version=\"1.0\"?>") -> String? {
    title(Array("\(declaration)<ComicInfo><Title>\(content)</Title></ComicInfo>".utf8))
  }

  @Test(
    "a title is one line of text, whatever stood in the document",
    arguments: [
      ("Main\n  two", "Main two"), ("\t Main\r\n\u{2028}two \u{85}", "Main two"), ("A\u{A0}b", "A\u{A0}b"),
      ("&nbsp; A &nbsp;", "A"), ("<![CDATA[<b>&amp;]]>", "<b>&amp;"), ("Tom & Jerry", "Tom & Jerry"),
      ("AT&T; R&D", "AT&T; R&D"), ("&amp;lt;", "&lt;"), ("&#65;&#x42;", "AB"),
      ("a&#0;&#x1F;&#xD800;&#x110000;b", "ab"),
      // A sign is no digit.
      ("a&#+65;&#x+42;&#-0;&#x;b", "ab"),
      ("&eacute;&Eacute;&yuml;&mdash;", "éÉÿ—"), ("&foo;", "&foo;"), ("a\u{B}b", "ab"),
      ("a<i> b</i> c", "a b c"),
      ("a<!-- & <x> -->b", "ab"), ("a<?x & ?>b", "ab"), ("<x:y>a</x:y>", "a"), ("&#x9B;31mred", "31mred"),
    ])
  func text(_ content: String, _ expected: String) {
    #expect(title(of: content) == expected)
  }

  @Test(
    "what a document says of its encoding does not count against its bytes",
    arguments: [
      "<?xml version=\"1.0\" encoding=\"utf-16\"?>", "<?xml version='1.1' encoding='UTF-16LE'?>",
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "<?xml version=\"1.0\" encoding=\"klingon\"?>", "",
      "\u{FEFF}<?xml version=\"1.0\"?>", "\n  <?xml version=\"1.0\"?>", "\u{FEFF}",
      "<?xml version=\"1.0\"?><!DOCTYPE ComicInfo PUBLIC \"a>b\" 'c[d'>",
    ])
  func declared(_ declaration: String) {
    #expect(title(of: "Été", declaration) == "Été")
  }

  @Test("UTF-16 of either order is read, with its mark or without")
  func wide() {
    let units = Array(
      "<?xml version=\"1.0\" encoding=\"UTF-16\"?><ComicInfo><Title>Été 🦆</Title></ComicInfo>".utf16)
    let little = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let big = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    for bytes in [little, big, [0xFF, 0xFE] + little, [0xFE, 0xFF] + big] { #expect(title(bytes) == "Été 🦆") }
    #expect(title([0xFF, 0xFE] + little.dropLast()) == nil)
    #expect(title([0xFF, 0xFE] + little.dropLast(2) + [0x00, 0xD8]) == nil)
  }

  @Test(
    "bytes that are no UTF-8 are of the encoding that is declared, where that is known",
    arguments: [
      ("ISO-8859-1", [0xC9, 0x74, 0xE9] as [UInt8], "Été"), ("windows-1252", [0x80], "€"),
      ("windows-1251", [0xCC, 0xE8, 0xF0], "Мир"), ("Shift_JIS", [0x95, 0x5C], "表"), ("klingon", [0xE9], nil),
    ] as [(String, [UInt8], String?)])
  func narrow(_ name: String, _ bytes: [UInt8], _ expected: String?) {
    let head = Array("<?xml version=\"1.0\" encoding=\"\(name)\"?><ComicInfo><Title>".utf8)
    #expect(title(head + bytes + Array("</Title></ComicInfo>".utf8)) == expected)
  }

  @Test(
    "a document that declares anything, or ends in the middle, is not read",
    arguments: [
      "<!DOCTYPE a [<!ENTITY b \"c\">]><ComicInfo/>", "<!DOCTYPE a><!DOCTYPE b><ComicInfo/>", "<!DOCTYPE a",
      "<ComicInfo><![CDATA[", "<ComicInfo><!-- ", "<?xml", "<ComicInfo/><!ELEMENT a>",
      "<?xml version=\"1.0\"",
    ])
  func refused(_ document: String) {
    #expect(title(Array(document.utf8)) == nil)
  }

  @Test("a long document of nothing but ampersands takes no more than five times its bytes")
  func expansion() {
    let document = [UInt8](repeating: 0x26, count: 1 << 20)
    #expect(MarkupText(document)?.bytes.count == 5 << 20)
  }
}
