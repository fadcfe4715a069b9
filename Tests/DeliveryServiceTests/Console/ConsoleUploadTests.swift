import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Uploads of the console's script", .timeLimit(.minutes(2)))
struct ConsoleUploadTests {
  private static let creation = "/console/uploads?product=com.example.issue1"
  private let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  private func run(
    _ body: (ServerHarness, ConsoleBrowser, _ token: String) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let page = try await browser.get("/console/upload?product=com.example.issue1")
      try await body(server, browser, try #require(browser.hidden("token", of: page.text)))
    }
  }

  @Test("a file arrives in parts, goes on where it was, and becomes a version by its upload's name")
  func parts() async throws {
    try await run { server, browser, token in
      let created = try await browser.tus(
        "POST", Self.creation, token: token,
        [("Upload-Length", "\(package.count)"), ("Upload-Metadata", "filename aXNzdWUuY2J6")])
      #expect(created.status == 201, "\(created.text)")
      let address = try #require(created.location)
      #expect(address.hasPrefix("/console/uploads/"))
      let type = ("Content-Type", "application/offset+octet-stream")
      let first = try await browser.tus(
        "PATCH", address, token: token, [type, ("Upload-Offset", "0")], content: Array(package[..<4000]))
      #expect(first.status == 204)
      #expect(first.headers["Upload-Offset"] == "4000")
      let asked = try await browser.tus("HEAD", address, token: token)
      #expect(asked.status == 200)
      #expect(asked.headers["Upload-Offset"] == "4000")
      #expect(asked.headers["Upload-Length"] == "\(package.count)")
      let early = try await browser.tus(
        "PATCH", address, token: token, [type, ("Upload-Offset", "9000")], content: Array(package[9000...]))
      #expect(early.status == 409)
      let second = try await browser.tus(
        "PATCH", address, token: token, [type, ("Upload-Offset", "4000")], content: Array(package[4000...]))
      #expect(second.headers["Upload-Offset"] == "\(package.count)")
      let name = try #require(address.split(separator: "/").last.map(String.init))
      let fields = [
        ("token", token), ("product", "com.example.issue1"), ("version", "1.0"), ("upload", name),
      ]
      let made = try await browser.form("/console/upload", fields)
      #expect(made.status == 303, "\(made.text.prefix(2000))")
      #expect(made.location == "/console/products/com.example.issue1/1.0?notice=uploaded")
      let record: VersionRecord = try await server.operatorAPI.get(server.path("com.example.issue1", "1.0"))
      #expect(record.state == .draft)
      #expect(record.length == ByteCount(package.count))
      // Who lost the answer sends the form again.
      #expect(try await browser.form("/console/upload", fields).status == 303)
    }
  }

  @Test("an upload is begun of a product that is there alone, by a page of the session")
  func refusals() async throws {
    try await run { server, browser, token in
      let length = [("Upload-Length", "10")]
      let unknown = try await browser.tus("POST", "/console/uploads?product=nothing", token: token, length)
      #expect(unknown.status == 404)
      #expect(unknown.headers["Content-Type"] == "application/problem+json")
      for wrong in [nil, "", "0123456789abcdef0123456789abcdef"] {
        #expect(try await browser.tus("POST", Self.creation, token: wrong, length).status == 403)
      }
      #expect(
        try await browser.tus("POST", Self.creation, token: token, length, from: "cross-site").status == 403)
      #expect(try await browser.tus("GET", "/console/uploads/x", token: token).status == 405)
      #expect(try await browser.tus("DELETE", "/console/uploads/x", token: token).status == 405)
      #expect(try await browser.tus("HEAD", "/console/uploads/x", token: token).status == 404)
      #expect(
        try await browser.tus("POST", Self.creation + "&product=b", token: token, length).status == 400)
      // Nothing leads the script to another page.
      let stranger = try await ConsoleBrowser(server).tus("POST", Self.creation, token: token, length)
      #expect(stranger.status == 401)
      let without = try await browser.form(
        "/console/upload", [("token", token), ("product", "com.example.issue1"), ("version", "1.0")])
      #expect(without.status == 400)
      for (foreign, status) in [("0123456789abcdef0123456789abcdef", 403), (token, 404)] {
        let answer = try await browser.form(
          "/console/upload",
          [("token", foreign), ("product", "com.example.issue1"), ("version", "1.0"), ("upload", "nothing")])
        #expect(answer.status == status)
      }
    }
  }
}
