import CoreTypes
import Database
import PullboxAPI
import Testing

@testable import DeliveryService

extension GrantStore {
  /// Writes the grant on one basis.
  func grant(on basis: Basis, to device: Device) async throws -> Issued {
    let now = clock.now()
    return try await database.write(locking: [.everything]) { connection in
      try #require(try Self.grants(on: [basis], to: device, at: now, in: connection).first).get()
    }
  }
}
