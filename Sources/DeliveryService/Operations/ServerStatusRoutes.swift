import CoreTypes
import Files
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// The server itself, for operators: its version, the room on its disk, its last backup and its certificate.
struct ServerStatusRoutes: Sendable {
  /// The state directory.
  let state: String
  /// The name of this server among those that share the database.
  let node: String
  let started: Timestamp
  /// The server whose certificate counts, once it is there.
  let server: WeakServerReference
  let log: Log

  /// Adds `GET /v1/operator/server`, which needs the scope `read`.
  func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/server", requires: .read, query: []) { _, _, _ in
      try .json(await status())
    }
  }

  /// Reads the status; a disk that cannot be looked at is left out, and logged.
  private func status() async -> ServerStatus {
    var status = ServerStatus(
      version: ProductVersion.current, node: node, started: started,
      certificateExpires: server.certificateExpiry)
    let state = state
    do {
      let (space, backup) = try await BlockingPool.shared.run {
        (try FileSystem.space(at: state), try LastBackup.read(in: state))
      }
      status.room = ServerStatus.Room(free: space.free, size: space.size)
      status.backup = backup.map {
        ServerStatus.Backup(made: $0.made, generation: $0.generation, length: $0.length)
      }
    } catch {
      log.warning("the state directory cannot be looked at", ["error": LogValue(error)])
    }
    return status
  }
}
