import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Publishing")
struct PublishingTests {
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  let package = Self.package
  private let tus = [("Tus-Resumable", "1.0.0")]

  private func send(
    _ server: ServerHarness, _ method: String, _ path: String, _ headers: [(String, String)],
    _ body: [UInt8]? = nil
  ) async throws -> ClientResponse {
    var request = server.operatorAPI.request(method, server.operatorAPI.url(path), headers: headers)
    if let body { request.body = .bytes(body) }
    return try await server.client.send(request)
  }

  private func create(_ server: ServerHarness, length: Int) async throws -> String {
    let response = try await send(
      server, "POST", "/v1/operator/uploads", tus + [("Upload-Length", String(length))])
    #expect(response.status == 201)
    return try #require(response.headers["Location"])
  }

  private func patch(
    _ server: ServerHarness, _ location: String, at offset: Int, _ bytes: [UInt8]
  ) async throws -> ClientResponse {
    try await send(
      server, "PATCH", location,
      tus + [("Upload-Offset", String(offset)), ("Content-Type", "application/offset+octet-stream")], bytes)
  }

  @Test("an upload arrives in parts, and says where it stands")
  func parts() async throws {
    try await ServerHarness.run { server in
      let location = try await create(server, length: package.count)
      let first = try await patch(server, location, at: 0, Array(package[..<40_000]))
      #expect(first.status == 204)
      #expect(first.headers["Upload-Offset"] == "40000")
      let head = try await send(server, "HEAD", location, tus)
      #expect(head.headers["Upload-Offset"] == "40000")
      #expect(head.headers["Upload-Length"] == "100000")
      #expect(head.headers["Cache-Control"] == "no-store")
      let second = try await patch(server, location, at: 40_000, Array(package[40_000...]))
      #expect(second.headers["Upload-Offset"] == "100000")
    }
  }

  @Test("bytes at a wrong offset are refused with the right one, and change nothing")
  func wrongOffset() async throws {
    try await ServerHarness.run { server in
      let location = try await create(server, length: package.count)
      _ = try await patch(server, location, at: 0, Array(package[..<1000]))
      let refused = try await patch(server, location, at: 999, [1, 2, 3])
      #expect(refused.status == 409)
      #expect(refused.headers["Upload-Offset"] == "1000")
      let head = try await send(server, "HEAD", location, tus)
      #expect(head.headers["Upload-Offset"] == "1000")
    }
  }

  @Test("an upload of one byte more than the limit is refused before a byte is taken")
  func tooLarge() async throws {
    try await ServerHarness.run { server in
      let refused = try await send(
        server, "POST", "/v1/operator/uploads", tus + [("Upload-Length", "2147483649")])
      #expect(refused.status == 413)
      #expect(try APIJSON.decode(Problem.self, from: refused.body).code == .uploadTooLarge)
    }
  }

  @Test("more bytes than were announced are refused")
  func overrun() async throws {
    try await ServerHarness.run { server in
      let location = try await create(server, length: 10)
      let refused = try await patch(server, location, at: 0, [UInt8](repeating: 0, count: 11))
      #expect(refused.status == 413)
    }
  }

  @Test("another protocol version is refused with the one spoken here; another media type too")
  func protocolRules() async throws {
    try await ServerHarness.run { server in
      let version = try await send(
        server, "POST", "/v1/operator/uploads", [("Tus-Resumable", "0.2.2"), ("Upload-Length", "1")])
      #expect(version.status == 412)
      #expect(version.headers["Tus-Version"] == "1.0.0")
      let location = try await create(server, length: 3)
      let type = try await send(
        server, "PATCH", location, tus + [("Upload-Offset", "0"), ("Content-Type", "text/plain")], [1, 2, 3])
      #expect(type.status == 415)
      let options = try await send(server, "OPTIONS", "/v1/operator/uploads", [])
      #expect(options.status == 204)
      #expect(options.headers["Tus-Version"] == "1.0.0")
      #expect(options.headers["Tus-Max-Size"] == "2147483648")
    }
  }

  @Test("a terminated upload is gone")
  func termination() async throws {
    try await ServerHarness.run { server in
      let location = try await create(server, length: 3)
      #expect(try await send(server, "DELETE", location, tus).status == 204)
      #expect(try await send(server, "HEAD", location, tus).status == 404)
      #expect(try await patch(server, location, at: 0, [1]).status == 404)
    }
  }

  @Test("an upload that is not complete becomes no version, and can be completed after")
  func incomplete() async throws {
    try await ServerHarness.run { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.a", body: ProductDescription(), as: OperatorProduct.self)
      let location = try await create(server, length: package.count)
      _ = try await patch(server, location, at: 0, Array(package[..<10]))
      let id = try #require(location.split(separator: "/").last.map(String.init))
      let submission = VersionSubmission(upload: id, version: try #require(ContentVersion("1.0")))
      func submit() async throws -> VersionRecord {
        try await server.operatorAPI.call(
          "POST", "/v1/operator/products/com.example.a/versions", body: submission, as: VersionRecord.self
        ).value
      }
      let problem = try await server.problem { _ = try await submit() }
      #expect(problem.code == .uploadIncomplete)
      _ = try await patch(server, location, at: 10, Array(package[10...]))
      let record = try await submit()
      #expect(record.digest == SHA256Digest.of(package))
      #expect(record.state == .draft)
    }
  }

  @Test("the same version with the same bytes is the same; with other bytes it is a conflict")
  func immutable() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package, as: "com.example.a")
      let again = try await server.submit(package, as: "com.example.a", version: "1.0")
      #expect(again.state == .released)
      let problem = try await server.problem {
        _ = try await server.submit(package + [1], as: "com.example.a", version: "1.0.0")
      }
      #expect(problem.code == .versionConflict)
    }
  }

  @Test("a newer release supersedes the older one, and readers get the newer")
  func supersede() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package, as: "com.example.issue1", version: "1.9")
      try await server.publish(package + [1], as: "com.example.issue1", version: "1.10")
      let product = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.issue1", as: OperatorProduct.self)
      #expect(product.versions.map(\.version.description) == ["1.10", "1.9"])
      #expect(product.versions.map(\.state) == [.released, .superseded])
      let grant = try await server.grantForPurchase()
      #expect(grant.download.version.description == "1.10")
    }
  }

  @Test("withdrawn content is gone for new grants: 410")
  func withdrawn() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/com.example.issue1/versions/1.0/withdraw",
        body: WithdrawalRequest(reason: "a page is missing"), as: VersionRecord.self)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .contentWithdrawn)
    }
  }

  @Test("without a key, or with a wrong one, nothing is operated")
  func keys() async throws {
    try await ServerHarness.run { server in
      let anonymous = try await server.problem {
        _ = try await server.api.get("/v1/operator/products", as: Page<OperatorProduct>.self)
      }
      #expect(anonymous.code == .unauthorized)
      let wrong = APIClient(baseURL: server.api.baseURL, credential: "wrong", client: server.client)
      let refused = try await server.problem {
        _ = try await wrong.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      }
      #expect(refused.code == .unauthorized)
    }
  }

  @Test("who did what is in the audit log, newest first")
  func audit() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let page = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      #expect(
        page.items.map(\.action) == [
          "version.release", "version.approve", "version.submit", "version.create", "product.create",
        ])
      #expect(page.items.allSatisfy { $0.actor == "operator" })
    }
  }

  @Test("the list of products for sale is compressed on request and answered 304 while it stays")
  func productList() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      func list(_ headers: [(String, String)]) async throws -> ClientResponse {
        try await server.client.send(
          ClientRequest(method: "GET", url: server.api.url("/products_v1.json"), headers: headers))
      }
      let plain = try await list([])
      #expect(String(decoding: plain.body, as: UTF8.self) == #"["com.example.issue1"]"#)
      let tag = try #require(plain.headers["ETag"])
      #expect(try await list([("If-None-Match", tag)]).status == 304)
      let compressed = try await list([("Accept-Encoding", "gzip")])
      #expect(compressed.headers["Content-Encoding"] == "gzip")
      #expect(Array(compressed.body.prefix(2)) == [0x1F, 0x8B])
      #expect(compressed.headers["ETag"] != tag)
      // RFC 9110 §12.5.3: the asterisk stands for what is not listed by name.
      for field in ["*, gzip;q=0", "gzip;q=0, *", "identity", "gzip;q=0.000", ""] {
        #expect(try await list([("Accept-Encoding", field)]).headers["Content-Encoding"] == nil, "\(field)")
      }
      for field in ["*", "br, *;q=0.5", "*;q=0, x-gzip", "GZIP ; Q=0.1"] {
        #expect(
          try await list([("Accept-Encoding", field)]).headers["Content-Encoding"] == "gzip", "\(field)")
      }
      let failed = try await list([("If-Match", "\"other\"")])
      #expect(failed.status == 412)
      #expect(failed.headers["Cache-Control"] == "no-store")
    }
  }

  @Test("a description with faults is refused with all of them")
  func productFaults() async throws {
    try await ServerHarness.run { server in
      let description = ProductDescription(
        type: .autoRenewableSubscription,
        localizations: ["not a tag!": Product.Localization(title: "", description: "")])
      let problem = try await server.problem {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/com.example.a", body: description, as: OperatorProduct.self)
      }
      #expect(problem.code == .productInvalid)
      #expect(
        problem.faults?.map(\.code) == ["period-missing", "publication-missing", "locale", "title"])
    }
  }
}
