import CoreTypes
import Foundation
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryService

@Suite("The server, as operators see it")
struct ServerStatusTests {
  @Test("it tells its version, since when it runs, its room, and its last backup once there is one")
  func status() async throws {
    try await ServerHarness.run(options: ["--node", "shelf-1"]) { server in
      let status: ServerStatus = try await server.operatorAPI.get("/v1/operator/server")
      #expect(status.version == ProductVersion.current)
      #expect(status.node == "shelf-1")
      #expect(status.started == ServerHarness.start)
      let room = try #require(status.room)
      #expect(room.free.rawValue > 0 && room.free <= room.size)
      #expect(status.backup == nil)
      #expect(status.certificateExpires == nil)
      let note = #"{"made": "2026-11-21T03:00:00.000Z", "generation": "g7", "length": 123}"#
      let path = server.directory.path("state/last-backup.json")
      try Data(note.utf8).write(to: URL(fileURLWithPath: path))
      let later: ServerStatus = try await server.operatorAPI.get("/v1/operator/server")
      #expect(later.backup?.generation == "g7")
      #expect(later.backup?.length == ByteCount(123))
      #expect(later.backup?.made == Timestamp(rfc3339: "2026-11-21T03:00:00Z"))
    }
  }
}
