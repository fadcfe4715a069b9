import Testing

@testable import ContentDelivery

@Suite("Pages of other sites")
struct CrossOriginTests {
  @Test(
    "what is no origin is refused",
    arguments: [
      "shop.example", "https://shop.example/", "https://Shop.example", "ftp://shop.example", "null",
      "https://",
      "https://shop.example\r\nX: y",
    ])
  func malformed(text: String) {
    #expect(CrossOriginPolicy([text]) == nil)
  }

  @Test("origins have their port", arguments: ["http://localhost:8080", "https://[::1]:8443", "*"])
  func wellFormed(text: String) {
    #expect(CrossOriginPolicy([text])?.allows(text) == true)
  }
}
