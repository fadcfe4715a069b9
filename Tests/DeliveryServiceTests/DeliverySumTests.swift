import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService

@Suite("Sums of deliveries")
struct DeliverySumTests {
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 13) }

  @Test("what was granted and sent in a time is summed up, from the hour on in which it begins")
  func sums() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      // The third hour of a day.
      let start =
        Timestamp(
          millisecondsSinceEpoch: server.clock.now().millisecondsSinceEpoch / 86_400_000 * 86_400_000)
        + .seconds(86_400 + 3 * 3600)
      func sums(_ query: [(String, Timestamp)] = []) async throws -> DeliverySums {
        try await server.server.components.content.recorder.record()
        return try await server.operatorAPI.get(
          "/v1/operator/deliveries/sums", query: query.map { ($0.0, $0.1.description) })
      }
      server.clock.advance(by: start - server.clock.now())
      var sent = 0
      for (number, device) in [ServerHarness.early, ServerHarness.late, server.device].enumerated() {
        let grant = try await server.grant(to: device)
        let range = [("Range", "bytes=0-\(number)")]
        sent += try await server.fetch(grant, headers: range).body.count
        // A client may have bytes that their loop has not counted yet.
        let meters = server.server.components.content.recorder.meters
        while meters.total < ByteCount(sent) { await Task.yield() }
        #expect(try await sums().bytesDelivered == ByteCount(sent))
        server.clock.advance(by: .seconds(12 * 3600))
      }
      #expect(sent == 6)
      let now = start + .seconds(36 * 3600)
      #expect(
        try await sums()
          == DeliverySums(
            since: now - .seconds(86_400), until: now, grants: 2, bytesDelivered: ByteCount(5)))
      #expect(
        try await sums([("since", start + .seconds(3599))])
          == DeliverySums(since: start, until: now, grants: 3, bytesDelivered: ByteCount(6)))
      #expect(
        try await sums([("since", start + .seconds(3600)), ("until", start + .seconds(13 * 3600))])
          == DeliverySums(
            since: start + .seconds(3600), until: start + .seconds(13 * 3600), grants: 1,
            bytesDelivered: ByteCount(2)))
      #expect(try await sums([("since", now), ("until", now)]).grants == 0)
    }
  }

  @Test("a time that is to come, lies before 1970 or ends before it begins is refused")
  func refusedTimes() async throws {
    try await ServerHarness.run { server in
      let now = server.clock.now()
      let (before, later) = (now - .seconds(7200), now + .milliseconds(60_001))
      let refused: [[(String, String)]] = [
        [("since", later.description)], [("until", later.description)],
        [("since", now.description), ("until", before.description)],
        [("since", "0000-01-01T00:00:00Z")], [("until", "0000-01-01T00:00:00Z")],
        [("since", "1969-12-31T23:59:59.999Z")], [("since", "0000-01-01T00:00:00+23:59")],
        [("since", "9999-12-31T23:59:59Z")], [("until", "9999-12-31T23:59:59Z")],
        [("until", "99999-01-01T00:00:00Z")],
      ]
      for query in refused {
        let error = await #expect(throws: APICallError.self, "\(query)") {
          _ = try await server.operatorAPI.get(
            "/v1/operator/deliveries/sums", query: query, as: DeliverySums.self)
        }
        guard case .problem(let problem)? = error else {
          Issue.record("no answer of the interface: \(query)")
          continue
        }
        #expect(problem.code == .requestMalformed && problem.status == 400, "\(query)")
      }
      let sums = try await server.operatorAPI.get(
        "/v1/operator/deliveries/sums",
        query: [("since", "1970-01-01T00:00:00Z"), ("until", now.description)], as: DeliverySums.self)
      #expect(sums.since == Timestamp(millisecondsSinceEpoch: 0) && sums.until == now)
      // A caller whose clock is ahead of this one.
      let ahead = try await server.operatorAPI.get(
        "/v1/operator/deliveries/sums", query: [("until", (now + .seconds(60)).description)],
        as: DeliverySums.self)
      #expect(ahead.until == now)
    }
  }
}
