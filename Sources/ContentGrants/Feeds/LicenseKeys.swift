package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
import PullboxAPI
import ServiceAPI
package import ServiceRuntime

/// The keys that licenses are signed with. They lie in the database, so that all servers of it have the same ones and a backup keeps them.
/// Devices take the first that they see of a service, and go on to another only by the word of the one before.
package struct LicenseKeys: Sendable {
  /// The flag by which a server's program adds a key in place of serving.
  package static let rotationOption = CommandOption.flag(
    "rotate-license-key", environment: .none, key: .none,
    help: "Add a key that licenses are signed with, which the one before endorses, and end")

  /// How long a new key waits before licenses are signed with it.
  package static let delay: Duration = .seconds(10)

  private let database: Database

  package init(database: Database) {
    self.database = database
  }

  /// The keys at one moment.
  struct Current: Sendable {
    /// The key that signs now.
    let signing: SigningKey
    /// The public ones, newest first.
    let published: [LicenseKey]
  }

  /// The keys now; the first is made where there is none. Throws what the database throws, and `unavailable` where none of them can sign.
  func current(at now: Timestamp) async throws -> Current {
    var keys = try await database.read { try LicenseKeyTable.all(in: $0) }
    if keys.isEmpty {
      let first = LicenseKeyTable.Key(
        number: 1, key: SigningKey(), seals: Timestamp(millisecondsSinceEpoch: 0))
      keys = try await database.write(locking: [.lease("license keys")]) { connection in
        try LicenseKeyTable.add(first, in: connection)
        return try LicenseKeyTable.all(in: connection)
      }
    }
    guard let signing = Self.sealing(among: keys, at: now)?.secret else {
      throw Problem(.unavailable, "no key that licenses are signed with is whole", retryAfterSeconds: 60)
    }
    return Current(
      signing: signing,
      published: keys.map {
        LicenseKey(number: $0.number, key: $0.publicKey, seals: $0.seals, endorsement: $0.endorsement)
      })
  }

  /// The newest that has begun to sign.
  private static func sealing(among keys: [LicenseKeyTable.Key], at now: Timestamp) -> LicenseKeyTable.Key? {
    keys.first { $0.secret != nil && $0.seals <= now } ?? keys.last { $0.secret != nil }
  }

  /// Adds a key, which signs after `delay` and which the newest one endorses, and forgets the secrets of those that sign no more. Returns
  /// its number. Blocks. Where nodes share the database, its clock counts in place of `time`.
  package func rotate(at time: Timestamp, delay: Duration = LicenseKeys.delay) throws -> Int {
    let key = SigningKey()
    let isShared = database.isShared
    return try database.writeBlocking(locking: [.lease("license keys")]) { connection in
      let now = isShared ? try SQLDialect.serverTime(in: connection) : time
      let keys = try LicenseKeyTable.all(in: connection)
      let former = keys.first.flatMap(\.secret)
      let next = LicenseKeyTable.Key(
        number: (keys.first?.number ?? 0) + 1, key: key, seals: now + delay,
        endorsement: try former.map { try LicenseKey.endorsement(of: key.verificationKey, by: $0) })
      try LicenseKeyTable.add(next, in: connection)
      if let signing = Self.sealing(among: keys, at: now) {
        try LicenseKeyTable.forgetSecrets(before: signing.number, in: connection)
      }
      return next.number
    }
  }
}
