import ContentDelivery
import Crypto
import HTTPServer
import Testing

@testable import OperatorConsole

@Suite("The session in a request, and the page to which a sign-in leads")
struct DoorTests {
  private func secret(_ cookies: String...) throws -> String? {
    var request = try HTTPRequest(method: .get, rawTarget: "/console/")
    request.isSecure = true
    for cookie in cookies { request.headers.append(name: "Cookie", value: cookie) }
    return Door(request, settings: try #require(VisitProperties.settings)).secret(of: request)
  }

  @Test("a session's secret is the value of the one cookie of its name")
  func cookies() throws {
    #expect(try secret("a=b; __Host-pullbox-console=s1; c=d") == "s1")
    #expect(try secret("a=b", "__Host-pullbox-console=s1") == "s1")
    #expect(try secret("__Host-pullbox-console=s1", "__Host-pullbox-console=s2") == nil)
    #expect(try secret("pullbox-console=s1") == nil)
    // A cookie without a name, which any page of the site's domain may set.
    #expect(try secret("=__Host-pullbox-console=s1") == nil)
    #expect(try secret("__Host-pullbox-console=s1;\u{301}x=y") == "s1")
  }

  @Test("a sign-in leads to a page of the console and nowhere else")
  func pages() {
    #expect(
      Console.page("/console/products/a%20b?state=live")?.text == "/console/products/a%20b?state=live")
    for text in [
      "/console/../v1/operator/products", "/console/a/%2e%2E/../x", "/console/./sign-in",
      "//a.example/console/",
      "https://a.example/console/", "/console", "/console/sign-in",
    ] {
      #expect(Console.page(text) == nil, "\(text)")
    }
  }
}
