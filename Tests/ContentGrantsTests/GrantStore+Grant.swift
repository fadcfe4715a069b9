import Commerce
import CoreTypes
import Database
import DeliveryModel
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords

extension GrantStore {
  /// Writes the grant on one basis.
  func grant(on basis: Basis, to device: Device) async throws -> Issued {
    let now = clock.now()
    return try await database.write(locking: [.everything]) { connection in
      try #require(try Self.grants(on: [basis], to: device, at: now, in: connection).first).get()
    }
  }

  /// On what is known of the grant now, and of what its device need not be sent.
  func complete(
    _ id: GrantIdentifier, with completion: ReceivedCompletion, for credential: GrantCredential,
    counting unrecorded: DeliveryRecorder.Unrecorded = DeliveryRecorder.Unrecorded(),
    lease: OutboxLease? = nil
  ) async throws -> CompletionOutcome? {
    try await complete(
      try await completionBasis(of: id, withKeptContent: true), with: completion, for: credential,
      counting: unrecorded, lease: lease)
  }
}
