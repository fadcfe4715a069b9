import Testing

@testable import SandboxStore

@Suite("Forms")
struct FormFieldsTests {
  @Test(
    "an octet is a percent sign and two hexadecimal digits; a percent sign before anything else stands for itself",
    arguments: [
      ("%41%4a%4A", "AJJ"), ("a+b%2Bc%20d", "a b+c d"), ("%E2%82%AC", "€"),
      // Digits alone: RFC 3986, section 2.1.
      ("%+1", "% 1"), ("%-1", "%-1"), ("%+1%41", "% 1A"), ("%1", "%1"), ("%", "%"), ("%%41", "%A"),
      ("%4g", "%4g"),
      ("%0x41", "%0x41"),
    ])
  func octets(text: String, value: String) {
    #expect(FormFields(Array("field=\(text)&other=1".utf8))["field"] == value)
  }

  @Test("of several fields of one name the last counts, and one without an equals sign is empty")
  func fields() {
    let fields = FormFields(Array("a=1&b&a=2=3&%63=4".utf8))
    #expect(fields["a"] == "2=3" && fields["b"] == "" && fields["c"] == "4" && fields["d"] == nil)
  }
}
