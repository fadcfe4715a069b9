package import Commerce
package import CoreTypes
package import Crypto
package import PullboxAPI
import ServiceRuntime

/// The recent verdicts of stores on proofs, kept so that the stores need not be asked again. A pure value over two clocks.
/// The monotonic clock measures how long a verdict is believed; the wall clock tells when a verdict ends by its own date.
///
/// A question that ended without a verdict leaves no entry: the next request asks again. No entry says anything about the
/// device that asks; each request checks that.
package struct VerdictCache: Sendable {
  /// A proof at a store.
  package struct Key: Hashable, Sendable {
    package var store: StoreIdentifier
    /// The digest of the proof's text and kind.
    package var digest: SHA256Digest
  }

  /// A store's word on a proof, as far as it may be repeated.
  package enum Verdict: Sendable {
    /// The store vouches for it, and for these transactions.
    case verified(VerifiedProof)
    /// The store, or the proof itself, says that it is worth nothing. Beside the others, of which there are tens of thousands, it
    /// would take the most room.
    indirect case refused(Problem)
  }

  private struct Entry: Sendable {
    var verdict: Verdict
    /// When it is believed no more, by the monotonic clock.
    var end: MonotonicInstant
    /// When it ends by its own date; nil where it has none.
    var expires: Timestamp?
    /// The news up to that one are in it, or are about other transactions.
    var revision: Int
  }

  /// Transactions of which something later is known, each with the revision that told of it. They are kept in two generations,
  /// for at least ``VerdictCache/lifetime``: a verdict that is older has ended by itself.
  private struct News: Sendable {
    private var newer: [TransactionKey: Int] = [:]
    private var older: [TransactionKey: Int] = [:]
    private var begun = MonotonicInstant(nanoseconds: 0)
    var count: Int { newer.count + older.count }

    /// Adds transactions. The older generation goes once the newer one is ``VerdictCache/lifetime`` old.
    mutating func note(_ transactions: Set<TransactionKey>, _ revision: Int, at instant: MonotonicInstant) {
      if instant - begun > VerdictCache.lifetime { (older, newer, begun) = (newer, [:], instant) }
      for transaction in transactions { newer[transaction] = revision }
    }

    mutating func removeAll() { (older, newer) = ([:], [:]) }

    /// Whether something later is known of one of the proof's transactions.
    func isOld(_ proof: VerifiedProof, of revision: Int) -> Bool {
      count > 0 && proof.transactions.contains { (newer[$0.key] ?? older[$0.key] ?? 0) > revision }
    }
  }

  /// How long a store's word is believed, at most: a refund that nothing else tells of is noticed by then.
  package static let lifetime: Duration = .seconds(300)
  /// How long a refusal is repeated without asking.
  static let refusalLifetime: Duration = .seconds(30)

  /// Transactions of which it is remembered that something later is known; beyond, every verdict is forgotten.
  static let maximumNews = 16_384

  private var entries: RecentlyUsedCache<Key, Entry>
  private var news = News()
  /// The revision of the first question whose answer counts still. Answers to earlier questions do not, whatever they are
  /// about.
  private var oldest = 0
  /// How often something was forgotten: what was asked before that may be what was to be forgotten.
  package private(set) var revision = 0

  package init(maximumCount: Int = 65_536, maximumLength: ByteCount = .mebibytes(8)) {
    entries = RecentlyUsedCache(maximumCount: maximumCount, maximumLength: maximumLength)
  }

  package var count: Int { entries.count }
  /// About what the entries take in memory.
  package var length: ByteCount { entries.length }

  /// Nil when the store must be asked.
  package mutating func verdict(for key: Key, at instant: MonotonicInstant, date: Timestamp) -> Verdict? {
    guard let entry = entries.value(for: key) else { return nil }
    guard instant < entry.end, entry.expires.map({ date < $0 }) ?? true,
      isCurrent(entry.verdict, askedAt: entry.revision)
    else {
      entries.remove(key)
      return nil
    }
    if entry.revision < revision { entries.update(key) { [revision] in $0.revision = revision } }
    return entry.verdict
  }

  /// Keeps what was said in answer to a question that was asked at `instant`, when ``revision`` was that; not where something
  /// later is known by now of what it vouches for.
  package mutating func insert(
    _ verdict: Verdict, for key: Key, askedAt instant: MonotonicInstant, date: Timestamp, revision: Int
  ) {
    guard isCurrent(verdict, askedAt: revision) else { return }
    let entry: Entry
    var length = Self.entryLength
    switch verdict {
    case .verified(let proof):
      entry = Entry(
        verdict: verdict, end: instant + Self.lifetime, expires: proof.nextExpiry(after: date),
        revision: revision)
      length += proof.transactions.count * Self.transactionLength
    case .refused:
      entry = Entry(verdict: verdict, end: instant + Self.refusalLifetime, revision: revision)
    }
    entries.insert(entry, for: key, length: ByteCount(length))
  }

  /// Forgets every verdict that vouches for one of these transactions: something later is known of them. It costs what they are,
  /// however many verdicts there are.
  package mutating func forget(_ transactions: Set<TransactionKey>, at instant: MonotonicInstant) {
    revision += 1
    guard news.count + transactions.count <= Self.maximumNews else {
      news.removeAll()
      oldest = revision
      return
    }
    news.note(transactions, revision, at: instant)
  }

  /// Whether a verdict from that revision still counts. A refusal always does.
  private func isCurrent(_ verdict: Verdict, askedAt revision: Int) -> Bool {
    guard case .verified(let proof) = verdict, revision < self.revision else { return true }
    return revision >= oldest && !news.isOld(proof, of: revision)
  }

  // Measured roughly; texts of up to 15 bytes are held in place.
  private static let entryLength = 400
  private static let transactionLength = 300
}
