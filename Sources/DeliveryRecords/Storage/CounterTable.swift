import Commerce
package import CoreTypes
package import Database
import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// How many rows there are of what metrics show. Triggers of the tables keep the counts in the transaction that changes a
/// row, so that nothing is counted when a page of metrics is asked for.
package enum CounterTable {
  /// Grants of one state and environment.
  package struct GrantCount: Hashable, Sendable {
    /// The state by its name in the contract.
    package var state: String
    /// The environment of the purchase.
    package var environment: String
    /// Grants that exist now; a removed one is not counted.
    package var count: Int64
  }

  /// How many grants there are in each state, by its name; those that are revoked count as `revoked` alone. The
  /// order is by environment, then by state. A state without grants counts 0.
  package static func grants(in connection: borrowing Connection) throws -> [GrantCount] {
    try [StoreEnvironment.production, .sandbox].flatMap { environment in
      var counts: [String: Int64] = [:]
      for state in GrantMachine.State.all {
        counts[GrantMachine(state: state).name.rawValue, default: 0] += try value(
          "grants \(environment.rawValue) \(state.stored)", in: connection)
      }
      return counts.sorted { $0.key < $1.key }.map {
        GrantCount(state: $0.key, environment: environment.rawValue, count: $0.value)
      }
    }
  }

  /// Cases that are kept, of one kind.
  package static func irregularities(
    of kind: Irregularity.Kind, in connection: borrowing Connection
  ) throws -> Int64 {
    try value("irregularities \(kind.rawValue)", in: connection)
  }

  /// The proofs that were served while their store was away and are still to be confirmed, with the length of the proofs and
  /// the number of their grants.
  package struct Unconfirmed: Hashable, Sendable {
    /// Proofs that their stores have not confirmed yet.
    package var proofs: Int64
    /// Bytes of the proofs that are kept.
    package var length: ByteCount
    /// Grants that rest on these proofs.
    package var grants: Int64
  }

  /// Returns the counts of the moment that the transaction sees.
  package static func unconfirmed(in connection: borrowing Connection) throws -> Unconfirmed {
    Unconfirmed(
      proofs: try value("unconfirmed proofs", in: connection),
      length: ByteCount(try value("unconfirmed bytes", in: connection)),
      grants: try value("unconfirmed grants", in: connection))
  }

  /// The counter of that name; 0 where it was never counted. In PostgreSQL a counter has several rows.
  private static func value(_ name: String, in connection: borrowing Connection) throws -> Int64 {
    let row = try connection.first(
      "SELECT CAST(coalesce(sum(value), 0) AS BIGINT) AS value FROM counters WHERE name = ?", [.text(name)])
    return try row?.integer("value") ?? 0
  }
}
