import Testing

@testable import OperatorConsole

@Suite("Markup that is escaped by type")
struct MarkupTests {
  @Test("a text is no markup, in content and in attributes")
  func escaping() {
    let hostile = "</title><script>alert('1')</script>&\""
    let piece = element(.p, .value(hostile)) { hostile }
    #expect(!piece.html.contains("<script"))
    #expect(!piece.html.dropFirst(2).contains("\"<"))
    #expect(piece.html.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"))
  }

  @Test("control characters, which HTML has no place for, are replaced")
  func controls() {
    #expect(Markup("a\u{0}b\u{1B}c\u{85}\n").html == "a\u{FFFD}b\u{FFFD}c\u{FFFD}\n")
  }

  @Test("what others wrote turns no text around it, and is cut")
  func foreign() {
    let overridden = Markup.foreign("abc\u{202E}def")
    #expect(overridden.html == "<bdi>abc\u{202E}def</bdi>")
    let long = Markup.foreign(String(repeating: "x", count: 10_000))
    #expect(long.html == "<bdi>\(String(repeating: "x", count: 300))…</bdi>")
  }

  @Test(
    "a value in a command that is to be copied is one word of a shell, whatever it is",
    arguments: [
      ("com.example.issue-1_a", "com.example.issue-1_a"), ("", "''"), ("a b", "'a b'"),
      ("x;curl evil|sh", "'x;curl evil|sh'"), ("it's", "'it'\\''s'"), ("$(id)", "'$(id)'"), ("\n", "'\n'"),
    ])
  func shellWords(value: String, word: String) {
    #expect(shellWord(value) == word)
  }

  @Test("elements without content have no end tag")
  func void() {
    #expect(element(.input, .name("a"), .required).html == "<input name=\"a\" required>")
    #expect(element(.p).html == "<p></p>")
  }

  @Test("an address is a path of this server, whatever its parts are")
  func addresses() {
    let address = Address.console(
      "deliveries", "//evil.example/../?#", query: [("a b", "c&d"), ("e", nil), ("f", "")])
    #expect(address.text == "/console/deliveries/%2F%2Fevil.example%2F..%2F%3F%23?a%20b=c%26d")
    #expect(Address(["javascript:alert(1)"]).text == "/javascript%3Aalert%281%29")
    #expect(
      address.with("a b", "x").with("a b", nil).text == "/console/deliveries/%2F%2Fevil.example%2F..%2F%3F%23"
    )
  }
}
