import CoreTypes
import PullboxAPI
import Synchronization

/// The proofs on which grants were made lately, so that their stores can be asked again while content is sent. In memory alone: a
/// proof works like a key.
final class RecentProofs: Sendable {
  /// A proof, and what it is known by.
  struct Entry: Sendable, CustomStringConvertible {
    var key: VerdictCache.Key
    var proof: Proof

    /// Nothing of the proof.
    var description: String { "proof \(key.digest) of \(key.store)" }
  }

  private struct State {
    var keys: RecentlyUsedCache<DeliveryHandle, VerdictCache.Key>
    var proofs: RecentlyUsedCache<VerdictCache.Key, Proof>
  }

  private let state: Mutex<State>
  // Measured roughly: a handle, a key and their places.
  private static let entryLength = ByteCount(200)

  /// - Parameters:
  ///   - maximumCount: grants whose proofs are known.
  ///   - maximumLength: what the texts of all proofs take together.
  init(maximumCount: Int = 131_072, maximumLength: ByteCount = .mebibytes(64)) {
    state = Mutex(
      State(
        keys: RecentlyUsedCache(
          maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount) * 200)),
        proofs: RecentlyUsedCache(maximumCount: maximumCount, maximumLength: maximumLength)))
  }

  /// These grants rest on the proof.
  func note(_ proof: Proof, as key: VerdictCache.Key, for grants: [DeliveryHandle]) {
    guard !grants.isEmpty else { return }
    let length = [proof.receipt, proof.signedTransaction, proof.purchaseToken].reduce(0) {
      $0 + ($1?.utf8.count ?? 0)
    }
    state.withLock { state in
      for grant in grants { state.keys.insert(key, for: grant, length: Self.entryLength) }
      if state.proofs.value(for: key) == nil {
        state.proofs.insert(proof, for: key, length: ByteCount(length) + Self.entryLength)
      }
    }
  }

  /// The proofs of those of the grants of which they are known, each once.
  func proofs(of grants: some Sequence<DeliveryHandle>) -> [Entry] {
    state.withLock { state in
      var keys: Set<VerdictCache.Key> = []
      var found: [Entry] = []
      for grant in grants {
        guard let key = state.keys.value(for: grant), keys.insert(key).inserted,
          let proof = state.proofs.value(for: key)
        else { continue }
        found.append(Entry(key: key, proof: proof))
      }
      return found
    }
  }
}
