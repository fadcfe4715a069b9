import Commerce
import CoreTypes
import Crypto
import HTTPClient
import Monitoring
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

/// Each case of RFC 9110 is asked at both doors: on the loop, and off the loops, where requests go whose query has more than
/// the ticket.
@Suite("Ranges and conditions, at both doors")
struct ContentConformanceTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var section: String
    var headers: [(String, String)]
    var status: Int
    var contentRange: String?
    var body: Range<Int>?

    var testDescription: String { "\(section) \(headers.map { "\($0.0): \($0.1)" }.joined(separator: ", "))" }
  }

  static let length = 10_000
  static let package = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  static let tag = "\"\(SHA256Digest.of(package))\""
  static let other = "\"\(SHA256Digest.of([1]))\""

  static func part(_ section: String, _ headers: [(String, String)], _ range: Range<Int>) -> Case {
    Case(
      section: section, headers: headers, status: 206,
      contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)", body: range)
  }

  static func whole(_ section: String, _ headers: [(String, String)]) -> Case {
    Case(section: section, headers: headers, status: 200, contentRange: nil, body: 0..<length)
  }

  static func unsatisfiable(_ section: String, _ headers: [(String, String)]) -> Case {
    Case(section: section, headers: headers, status: 416, contentRange: "bytes */\(length)", body: nil)
  }

  static let cases: [Case] = [
    whole("§14.2", []),
    part("§14.1.2", [("Range", "bytes=0-499")], 0..<500),
    part("§14.1.2", [("Range", "bytes=500-999")], 500..<1000),
    part("§14.1.2", [("Range", "bytes=-500")], 9500..<10_000),
    part("§14.1.2", [("Range", "bytes=9500-")], 9500..<10_000),
    part("§14.1.2", [("Range", "bytes=0-0")], 0..<1),
    part("§14.1.2", [("Range", "bytes=9999-9999")], 9999..<10_000),
    // A last position past the end means the end; a suffix that is too long, the whole.
    part("§14.1.2", [("Range", "bytes=9000-20000")], 9000..<10_000),
    part("§14.1.2", [("Range", "bytes=-20000")], 0..<10_000),
    unsatisfiable("§14.1.1", [("Range", "bytes=10000-")]),
    unsatisfiable("§14.1.1", [("Range", "bytes=10000-10001")]),
    unsatisfiable("§14.1.1", [("Range", "bytes=-0")]),
    // A field that is no ranges-specifier, or of an unknown unit, is ignored.
    whole("§14.2", [("Range", "bytes=5-4")]),
    whole("§14.2", [("Range", "bytes=a-b")]),
    whole("§14.2", [("Range", "pages=1-2")]),
    whole("§14.2", [("Range", "bytes 0-1")]),
    // If-Range compares strongly; with a tag that does not match, or a date, the whole is sent.
    part("§13.1.5", [("Range", "bytes=0-9"), ("If-Range", tag)], 0..<10),
    whole("§13.1.5", [("Range", "bytes=0-9"), ("If-Range", other)]),
    whole("§13.1.5", [("Range", "bytes=0-9"), ("If-Range", "W/" + tag)]),
    whole("§13.1.5", [("Range", "bytes=0-9"), ("If-Range", "Sun, 06 Nov 1994 08:49:37 GMT")]),
    // An If-Range that does not hold makes an unsatisfiable range a request for the whole.
    whole("§13.1.5", [("Range", "bytes=10000-"), ("If-Range", other)]),
    Case(section: "§13.1.2", headers: [("If-None-Match", tag)], status: 304),
    Case(section: "§13.1.2", headers: [("If-None-Match", "W/" + tag)], status: 304),
    Case(section: "§13.1.2", headers: [("If-None-Match", "*")], status: 304),
    Case(section: "§13.1.2", headers: [("If-None-Match", "\(other), \(tag)")], status: 304),
    whole("§13.1.2", [("If-None-Match", other)]),
    part("§13.2.2", [("If-None-Match", other), ("Range", "bytes=0-9")], 0..<10),
    Case(section: "§13.2.2", headers: [("If-None-Match", tag), ("Range", "bytes=0-9")], status: 304),
    whole("§13.1.1", [("If-Match", tag)]),
    whole("§13.1.1", [("If-Match", "*")]),
    Case(section: "§13.1.1", headers: [("If-Match", other)], status: 412),
    Case(section: "§13.1.1", headers: [("If-Match", "W/" + tag)], status: 412),
    Case(section: "§13.2.2", headers: [("If-Match", other), ("If-None-Match", tag)], status: 412),
    Case(section: "§13.2.2", headers: [("If-Match", other), ("Range", "bytes=0-9")], status: 412),
    Case(section: "§13.2.2", headers: [("If-Match", tag), ("If-None-Match", tag)], status: 304),
  ]

  @Test("every case has the same answer at both doors, for GET and HEAD, and it is the RFC's")
  func bothDoors() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      for method in ["GET", "HEAD"] {
        for test in Self.cases {
          let loop = try await ask(method, test, [("ticket", grant.download.ticket)], server, grant)
          let deferred = try await ask(
            method, test, [("ticket", grant.download.ticket), ("door", "2")], server, grant)
          // RFC 9110 §14.2: a range is for GET only.
          let isRanged = test.status == 206 || test.status == 416
          let status = method == "HEAD" && isRanged ? 200 : test.status
          for response in [loop, deferred] {
            #expect(response.status == status, "\(method) \(test.testDescription)")
            #expect(
              response.headers["Content-Range"] == (method == "GET" ? test.contentRange : nil),
              "\(method) \(test.testDescription)")
            let body = method == "GET" ? test.body.map { Array(Self.package[$0]) } ?? [] : []
            if status != 416, status != 412 {
              #expect(response.body == body, "\(method) \(test.testDescription)")
            }
          }
          #expect(fields(loop) == fields(deferred), "\(method) \(test.testDescription)")
        }
      }
      // The loop answered one half itself, and the first request of all went to the routes.
      let inline = server.server.metrics.routes.included.values.reduce(0, +)
      #expect(inline == 2 * Self.cases.count)
    }
  }

  private func ask(
    _ method: String, _ test: Case, _ query: [(String, String)], _ server: ServerHarness,
    _ grant: GrantResponse
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(
        method: method, url: server.api.url(grant.download.contentURL, query: query), headers: test.headers))
  }

  /// All fields but those of the moment and of the request, in one order.
  private func fields(_ response: ClientResponse) -> [String] {
    response.headers.filter { !["date", "connection", "x-request-id"].contains($0.name.lowercased()) }
      .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
  }
}
