import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// What stores said of proofs a short while ago, so that they need not be asked again. A pure value over two clocks:
/// the monotonic one measures how long a verdict is believed, the wall clock when it says itself that it ends.
///
/// A verdict that could not be reached is not kept: the next request asks again. Nothing in it is about the
/// device that asks; that is checked with each request.
struct VerdictCache: Sendable {
  /// A proof at a store.
  struct Key: Hashable, Sendable {
    var store: StoreIdentifier
    /// Of the proof's text and its kind.
    var digest: SHA256Digest
  }

  enum Verdict: Sendable {
    case verified(VerifiedProof)
    /// The store, or the proof itself, says that it is worth nothing. Beside the others, of which there are tens of thousands, it
    /// would take the most room.
    indirect case refused(Problem)
  }

  private struct Entry: Sendable {
    var verdict: Verdict
    var end: MonotonicInstant
    var expires: Timestamp?
  }

  /// How long a store's word is believed, at most: a refund that nothing else tells of is noticed by then.
  static let lifetime: Duration = .seconds(300)
  /// How long a refusal is repeated without asking.
  static let refusalLifetime: Duration = .seconds(30)

  private var entries: RecentlyUsedCache<Key, Entry>
  /// How often something was forgotten: what was asked before that may be what was to be forgotten.
  private(set) var revision = 0

  init(maximumCount: Int = 65_536, maximumLength: ByteCount = .mebibytes(8)) {
    entries = RecentlyUsedCache(maximumCount: maximumCount, maximumLength: maximumLength)
  }

  var count: Int { entries.count }
  /// About what the entries take in memory.
  var length: ByteCount { entries.length }

  /// Nil when the store must be asked.
  mutating func verdict(for key: Key, at instant: MonotonicInstant, date: Timestamp) -> Verdict? {
    guard let entry = entries.value(for: key) else { return nil }
    if instant < entry.end, entry.expires.map({ date < $0 }) ?? true { return entry.verdict }
    entries.remove(key)
    return nil
  }

  /// Keeps what was said in answer to a question that was asked at `instant`, unless ``revision`` is another by now
  /// than it was then.
  mutating func insert(
    _ verdict: Verdict, for key: Key, askedAt instant: MonotonicInstant, date: Timestamp, revision: Int
  ) {
    guard revision == self.revision else { return }
    let entry: Entry
    var length = Self.entryLength
    switch verdict {
    case .verified(let proof):
      entry = Entry(
        verdict: verdict, end: instant + Self.lifetime, expires: proof.nextExpiry(after: date))
      length += proof.transactions.count * Self.transactionLength
    case .refused:
      entry = Entry(verdict: verdict, end: instant + Self.refusalLifetime)
    }
    entries.insert(entry, for: key, length: ByteCount(length))
  }

  /// Forgets every verdict that vouches for one of these transactions: something later is known of them.
  mutating func forget(_ transactions: Set<TransactionKey>) {
    revision += 1
    entries.removeAll { entry in
      guard case .verified(let proof) = entry.verdict else { return false }
      return proof.transactions.contains { transactions.contains($0.key) }
    }
  }

  // Measured roughly; texts of up to 15 bytes are held in place.
  private static let entryLength = 400
  private static let transactionLength = 300
}
