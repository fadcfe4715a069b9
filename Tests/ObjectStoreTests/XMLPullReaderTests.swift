import PullboxTesting
import Testing

@testable import ObjectStore

/// The rules of XML 1.0 (fifth edition), as far as stores need them.
struct XMLPullReaderTests {
  private func events(_ text: String) throws -> [XMLPullReader.Event] {
    var reader = XMLPullReader(Array(text.utf8))
    var events: [XMLPullReader.Event] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  @Test("elements come in their order, with their own text and by their local names")
  func elements() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!-- a comment -->
      <s3:List xmlns:s3="http://s3.amazonaws.com/doc/2006-03-01/" a='>'>
        <Key>a<Inner/>b</Key >
      </s3:List>
      """
    #expect(
      try events(text) == [
        .start(name: "List"), .start(name: "Key"), .start(name: "Inner"), .end(name: "Inner", text: ""),
        .end(name: "Key", text: "ab"), .end(name: "List", text: "\n  \n"),
      ])
  }

  @Test(
    "the five named characters, numbers and CDATA are read",
    arguments: [
      ("&quot;a&quot;", "\"a\""), ("&amp;amp;&lt;&gt;&apos;", "&amp;<>'"), ("&#228;&#xE4;&#x1F600;", "ää😀"),
      ("<![CDATA[<&amp;]]]]><![CDATA[>]]>", "<&amp;]]>"), ("a<!-- <b> -->c", "ac"),
    ])
  func text(written: String, read: String) throws {
    #expect(try events("<a>\(written)</a>").last == .end(name: "a", text: read))
  }

  @Test("the path names the elements that are open")
  func path() throws {
    var reader = XMLPullReader(Array("<a><b/><c></c></a>".utf8))
    var paths: [[String]] = []
    while try reader.next() != nil { paths.append(reader.path) }
    #expect(paths == [["a"], ["a", "b"], ["a"], ["a", "c"], ["a"], []])
  }

  @Test("a byte order mark is passed over")
  func byteOrderMark() throws {
    #expect(try events("\u{FEFF}<?xml version='1.0'?><a/>").count == 2)
  }

  @Test(
    "what is malformed, what would have to be expanded, and other encodings end the reading",
    arguments: [
      "", "  ", "text", "<a>", "<a", "<a></b>", "</a>", "<a/><b/>", "<a/>text", "text<a/>", "<a b></a>",
      "<a b=c></a>",
      "<a b='></a>", "<a b='<'></a>", "< a/>", "<a>&b;</a>", "<a>&amp</a>", "<a>&#0;</a>", "<a>&#xD800;</a>",
      "<a>&#+5;</a>", "<a>&#x110000;</a>", "<a>&#99999999999;</a>", "<a><![CDATA[</a>", "<a><!-- </a>",
      "<!DOCTYPE a><a/>",
      "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a><?php ?></a>", "<?xml-stylesheet href='a'?><a/>",
      "<a/><?xml ?>",
      "<?xml version='1.0' encoding='UTF-16'?><a/>", "<?xml version='1.0' encoding=\"ISO-8859-1\"?><a/>",
      "<a/ >", "<a//>",
    ])
  func malformed(text: String) {
    #expect(throws: XMLPullReader.Fault.self) { try events(text) }
  }

  @Test("bytes that are no UTF-8 end the reading")
  func encoding() {
    var reader = XMLPullReader(Array("<a>".utf8) + [0xC3] + Array("</a>".utf8))
    #expect(throws: XMLPullReader.Fault.self) { while try reader.next() != nil {} }
  }

  @Test("depth, names and texts have bounds")
  func bounds() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    #expect(try events(nested(16)).count == 32)
    #expect(throws: XMLPullReader.Fault.self) { try events(nested(17)) }
    let name = String(repeating: "n", count: 128)
    #expect(try events("<\(name)/>").count == 2)
    #expect(throws: XMLPullReader.Fault.self) { try events("<n\(name)/>") }
    let text = String(repeating: "t", count: 16_384)
    #expect(try events("<a>\(text)</a>").last == .end(name: "a", text: text))
    #expect(throws: XMLPullReader.Fault.self) { try events("<a>\(text)t</a>") }
    #expect(throws: XMLPullReader.Fault.self) { try events("<a>\(text)<![CDATA[t]]></a>") }
  }

  @Test("whatever the bytes, reading ends, with an end for each start or with a fault")
  func mutations() {
    let error = "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>a &amp; b</Message></Error>"
    let list = "<L xmlns='x'><C><Key>a</Key><Size>1</Size></C><!-- c --><![CDATA[d]]></L>"
    var mutator = Mutator(
      seed: 34, seeds: [error, list],
      words: ["<", ">", "</", "/>", "&", ";", "&#x", "<!--", "-->", "]]>", "<!", "<?", "'", "\u{0}"])
    for _ in 0..<20_000 {
      let bytes = mutator.next()
      var reader = XMLPullReader(bytes)
      var (open, events) = (0, 0)
      do {
        while let event = try reader.next() {
          if case .start = event { open += 1 } else { open -= 1 }
          events += 1
          #expect(open == reader.path.count)
          // Each start takes two bytes at least.
          if events > bytes.count { break }
        }
        #expect(open == 0)
        #expect(events <= bytes.count)
      } catch {
        #expect(!error.message.isEmpty)
      }
    }
  }
}
