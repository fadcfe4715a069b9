import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Reads and writes with conditions")
struct ConditionalWriteTests {
  private let product = "/v1/operator/products/com.example.issue1"
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  /// The strong tag of what is there.
  private func tag(_ server: ServerHarness, _ path: String) async throws -> String {
    let response = try await server.operatorAPI.exchange("GET", path)
    #expect(response.headers["Cache-Control"] == "private, no-cache")
    let tag = try #require(response.headers["ETag"])
    #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count > 2)
    return tag
  }

  private func put(
    _ server: ServerHarness, _ title: String, _ headers: [(String, String)] = [], to path: String? = nil
  ) async throws {
    let description = ProductDescription(
      localizations: ["en-US": Product.Localization(title: title, description: "")])
    _ = try await server.operatorAPI.exchange(
      "PUT", path ?? product, bytes: try APIJSON.encode(description), headers: headers)
  }

  @Test("of two operators who change what they read, the second is told that it is another now")
  func lostUpdate() async throws {
    try await ServerHarness.run { server in
      try await put(server, "First")
      let read = try await tag(server, product)
      try await put(server, "Of one operator", [("If-Match", read)])
      let refused = try await server.problem { try await put(server, "Of another", [("If-Match", read)]) }
      #expect(refused.code == .preconditionFailed)
      #expect(refused.status == 412)
      let present = try await server.operatorAPI.get(product, as: OperatorProduct.self).product
      #expect(present.localizations["en-US"]?.title == "Of one operator")
      try await put(server, "Of another", [("If-Match", "\"a\", \(try await tag(server, product))")])
      // RFC 9110 §13.1.1: a weak tag matches nothing.
      let weak = try await server.problem {
        try await put(server, "Weak", [("If-Match", "W/\(try await tag(server, product))")])
      }
      #expect(weak.code == .preconditionFailed)
    }
  }

  @Test("what must not exist yet is created once, and what must exist is not created")
  func creation() async throws {
    try await ServerHarness.run { server in
      let absent = try await server.problem { try await put(server, "A", [("If-Match", "*")]) }
      #expect(absent.code == .preconditionFailed)
      try await put(server, "A", [("If-None-Match", "*")])
      let exists = try await server.problem { try await put(server, "B", [("If-None-Match", "*")]) }
      #expect(exists.code == .preconditionFailed)
      try await put(server, "C", [("If-Match", "*")])
      let audit = try await server.audit()
      #expect(audit.map(\.action) == ["product.change", "product.create"])
    }
  }

  @Test("a client that has a product or a version gets 304, and the tag changes when a version does")
  func reads() async throws {
    try await ServerHarness.run { server in
      try await server.approve(package, "1.0", describing: true)
      for path in [product, product + "/versions/1.0"] {
        let before = try await tag(server, path)
        #expect(try await tag(server, path) == before)
        let url = server.operatorAPI.url(path)
        let again = try await server.client.send(
          server.operatorAPI.request("GET", url, headers: [("If-None-Match", before)]))
        #expect(again.status == 304)
        #expect(again.headers["ETag"] == before)
      }
      let before = (try await tag(server, product), try await tag(server, product + "/versions/1.0"))
      try await server.release("1.0")
      #expect(try await tag(server, product) != before.0)
      #expect(try await tag(server, product + "/versions/1.0") != before.1)
    }
  }

  @Test(
    "a step for a version as it was read is refused once a colleague has taken another",
    arguments: ["submit", "approve", "reject", "release", "withdraw"])
  func steps(step: String) async throws {
    try await ServerHarness.run { server in
      try await server.approve(package, "1.0", describing: true)
      let version = product + "/versions/1.0"
      let read = try await tag(server, version)
      try await server.release("1.0", to: 10)
      let refused = try await server.problem {
        _ = try await server.operatorAPI.exchange(
          "POST", "\(version)/\(step)", headers: [("If-Match", read)])
      }
      #expect(refused.code == .preconditionFailed)
      let record = try await server.operatorAPI.get(version, as: VersionRecord.self)
      #expect(record.state == .released && record.percentage == 10)
      _ = try await server.operatorAPI.exchange(
        "POST", "\(version)/release", headers: [("If-Match", try await tag(server, version))])
    }
  }

  @Test("a date that was set is not taken away by a command that saw another")
  func cancellation() async throws {
    try await ServerHarness.run { server in
      try await server.approve(package, "1.0", describing: true)
      let version = product + "/versions/1.0"
      try await server.release("1.0", at: server.clock.now() + .seconds(3600))
      let read = try await tag(server, version)
      try await server.release("1.0", at: server.clock.now() + .seconds(7200))
      let refused = try await server.problem {
        _ = try await server.operatorAPI.exchange(
          "DELETE", "\(version)/release", headers: [("If-Match", read)])
      }
      #expect(refused.code == .preconditionFailed)
      #expect(
        try await server.operatorAPI.get(version, as: VersionRecord.self).scheduled?.at
          == server.clock.now() + .seconds(7200))
    }
  }

  @Test("the products that a reader sees are cacheable, and revalidated by their tag")
  func readers() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let path = "/v1/products?id=com.example.issue1&territory=FRA"
      let response = try await server.api.exchange("GET", path)
      #expect(response.headers["Cache-Control"] == "public, max-age=60")
      let tag = try #require(response.headers["ETag"])
      func again() async throws -> ClientResponse {
        try await server.client.send(
          server.api.request("GET", server.api.url(path), headers: [("If-None-Match", tag)]))
      }
      #expect(try await again().status == 304)
      try await put(server, "Another title")
      let changed = try await again()
      #expect(changed.status == 200)
      #expect(changed.headers["ETag"] != tag)
      let personal = try await server.api.exchange("GET", path + "&device=device-1")
      #expect(personal.headers["Cache-Control"] == "private, max-age=60")
    }
  }

  @Test(
    "what says how the server is now is kept by no cache", arguments: ["/healthz", "/readyz", "/metrics"])
  func momentary(path: String) async throws {
    try await ServerHarness.run { server in
      let response = try await server.api.exchange("GET", path)
      #expect(response.headers["Cache-Control"] == "no-store")
    }
  }
}
