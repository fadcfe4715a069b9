import CoreTypes
import Testing

@Suite("Percent-encoding (RFC 3986)")
struct PercentEncodingTests {
  @Test(
    "unreserved characters stay, all others are their bytes in upper-case hexadecimal",
    arguments: [
      ("", ""), ("AZaz09-._~", "AZaz09-._~"), (" ", "%20"), ("/?#[]@", "%2F%3F%23%5B%5D%40"),
      ("!$&'()*+,;=", "%21%24%26%27%28%29%2A%2B%2C%3B%3D"), ("%", "%25"), ("\u{0}\u{A}", "%00%0A"),
      ("ア", "%E3%82%A2"),
    ])
  func encoding(text: String, encoded: String) {
    #expect(text.percentEncoded == encoded)
  }
}
