package import CoreTypes
import PullboxAPI
package import ServiceAPI
import ServiceRuntime
import Synchronization

/// The proofs on which grants rest whose content is not placed yet, so that their stores can be asked again while it is sent. In
/// memory alone: a proof works like a key. Beyond its bounds the proofs that were used longest ago are
/// forgotten.
package final class RecentProofs: Sendable {
  /// A proof, and what it is known by.
  package struct Entry: Sendable, CustomStringConvertible {
    package var key: VerdictCache.Key
    package var proof: Proof
    /// Those of the grants that were asked about which rest on it.
    package var grants: [DeliveryHandle]

    /// Nothing of the proof.
    package var description: String { "proof \(key.digest) of \(key.store)" }
  }

  private let entries: Mutex<RecentlyUsedCache<DeliveryHandle, Entry>>
  // Measured roughly: a handle, a key and their places.
  private static let entryLength = 200

  /// - Parameters:
  ///   - maximumCount: grants whose proofs are known.
  ///   - maximumLength: what the texts of their proofs take together.
  package init(maximumCount: Int = 65_536, maximumLength: ByteCount = .mebibytes(32)) {
    entries = Mutex(RecentlyUsedCache(maximumCount: maximumCount, maximumLength: maximumLength))
  }

  /// These grants rest on the proof.
  package func note(_ proof: Proof, as key: VerdictCache.Key, for grants: [DeliveryHandle]) {
    guard !grants.isEmpty else { return }
    let text = [proof.receipt, proof.signedTransaction, proof.purchaseToken].reduce(0) {
      $0 + ($1?.utf8.count ?? 0)
    }
    // All of them share one text.
    let length = text / grants.count + Self.entryLength
    entries.locked { entries in
      for grant in grants {
        entries.insert(Entry(key: key, proof: proof, grants: [grant]), for: grant, length: ByteCount(length))
      }
    }
  }

  /// The content of the grant is placed: no more of it is sent that a refund could end.
  package func forget(_ grant: DeliveryHandle) {
    entries.locked { $0.remove(grant) }
  }

  /// The length of the texts of all known proofs and of their entries together.
  package var length: ByteCount { entries.locked { $0.length } }

  /// The proofs of those of the grants of which they are known, each once.
  package func proofs(of grants: some Sequence<DeliveryHandle>) -> [Entry] {
    entries.locked { entries in
      var places: [VerdictCache.Key: Int] = [:]
      var found: [Entry] = []
      for grant in grants {
        guard let entry = entries.value(for: grant) else { continue }
        if let place = places[entry.key] {
          found[place].grants.append(grant)
        } else {
          places[entry.key] = found.endIndex
          found.append(entry)
        }
      }
      return found
    }
  }
}
