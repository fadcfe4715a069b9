import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

/// XML 1.0 (fifth edition), §2.2, §2.4, §3.3.3.
@Suite("The writer of XML")
struct XMLWriterTests {
  private func text(_ make: (inout XMLWriter) -> Void) -> String {
    var xml = XMLWriter(hasDeclaration: false)
    make(&xml)
    return String(decoding: xml.bytes, as: UTF8.self)
  }

  @Test("a document says that it is in UTF-8")
  func declaration() {
    #expect(
      String(decoding: XMLWriter().bytes, as: UTF8.self) == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
  }

  @Test("texts and attributes cannot end where they stand")
  func escaping() {
    #expect(text { $0.element("a", text: "]]> & <script>\"'") } == "<a>]]&gt; &amp; &lt;script&gt;\"'</a>")
    #expect(
      text { $0.element("a", ["b": "\"><x y='\n\t\r&"]) }
        == "<a b=\"&quot;&gt;&lt;x y='&#10;&#9;&#13;&amp;\"/>")
  }

  @Test("a carriage return is kept, which a parser would make a line feed of")
  func carriageReturn() {
    #expect(text { $0.element("a", text: "\r\n") } == "<a>&#13;\n</a>")
  }

  @Test("characters that no document can have are left out")
  func forbidden() {
    let title = "a\u{0}\u{1}\u{8}\u{B}\u{C}\u{E}\u{1F}\u{FFFE}\u{FFFF}b\u{202E}\u{10FFFF}\t\u{7F}"
    #expect(text { $0.element("a", text: title) } == "<a>ab\u{202E}\u{10FFFF}\t\u{7F}</a>")
    #expect(text { $0.element("a", ["b": "\u{0}x\u{FFFF}"]) } == "<a b=\"x\"/>")
  }

  @Test(
    "elements stand in one another, those without content end at once, and attributes without a value are left out"
  )
  func nesting() {
    #expect(
      text { xml in
        xml.element("a", ["b": "1", "c": nil]) { xml in
          xml.element("d")
          xml.element("e", text: "")
        }
      } == "<a b=\"1\"><d/><e/></a>")
  }

  @Test("an element of HTML has its end, also where it is empty")
  func html() {
    #expect(text { $0.tag("title") { _ in } } == "<title></title>")
    #expect(text { $0.void("meta", ["charset": "utf-8"]) } == "<meta charset=\"utf-8\">")
  }
}
