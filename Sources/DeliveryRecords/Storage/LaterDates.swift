package import Commerce
package import CoreTypes
import Synchronization

/// The dates as of which stores last repeated what the database has of transactions. An answer that tells nothing else is
/// not written down at once: questions are many, and each write would rewrite every transaction of its customer. The
/// answer's date counts all the same, since a statement that comes later may be older than it.
///
///     let heard = dates.heard(of: keys)                  // with what the database has: all that was said
///     if dates.note(repeated) == .outdated { … }         // it is to be written
///     dates.begin(keys); defer { dates.end(keys) }       // around a write of statements
///
/// Each date is compared with the row beside which it was heard (``Heard/written``). Where the row has another date by now,
/// the heard date counts no more. While a row is being written, a date that is heard of it is written after it.
/// It is one for a process, in memory, and safe on any thread.
package final class LaterDates: Sendable {
  /// The dates that were heard of one transaction.
  package struct Heard: Hashable, Sendable {
    /// The date of the row that the store repeated.
    package var written: Timestamp
    /// The latest date as of which the store repeated the row.
    package var asOf: Timestamp
    /// The date as of which the store last told of licenses.
    package var licenseAsOf: Timestamp?

    /// `licenseAsOf` is nil where the store has told of no license since the row was written.
    package init(written: Timestamp, asOf: Timestamp, licenseAsOf: Timestamp? = nil) {
      self.written = written
      self.asOf = asOf
      self.licenseAsOf = licenseAsOf
    }

    /// Whether the row is to get a later date.
    fileprivate var isUnwritten: Bool { asOf > written || licenseAsOf != nil }
  }

  /// A transaction with the dates that were heard of it.
  package struct Dated: Hashable, Sendable {
    /// The transaction whose row has the earlier date.
    package var key: TransactionKey
    /// Its dates, which count only beside the row that they were heard of.
    package var heard: Heard

    package init(key: TransactionKey, heard: Heard) {
      self.key = key
      self.heard = heard
    }
  }

  private struct Entry: Sendable {
    var heard: Heard
    /// It was heard, or written, since the last pass.
    var isNew = true
  }

  private struct State: Sendable {
    var entries: [TransactionKey: Entry] = [:]
    /// How many writes of each transaction's row are under way.
    var writes: [TransactionKey: Int] = [:]

    /// Forgets what is written down where there is no room for so many more; false where there is none then either.
    mutating func makeRoom(for count: Int) -> Bool {
      if entries.count + count <= LaterDates.maximumCount { return true }
      entries = entries.filter { $1.heard.isUnwritten }
      return entries.count + count <= LaterDates.maximumCount
    }
  }

  /// The outcome of a request to keep dates.
  package enum Noting: Hashable, Sendable {
    /// All of them are kept, or none was given.
    case kept
    /// One of the rows was written since it was read, or is being written: the answer is to be held against it again.
    case outdated
    /// There is no room. The rows have earlier dates then, as if nothing had been repeated.
    case full
  }

  /// Transactions of which a date is kept.
  package static let maximumCount = 65_536

  private let state = Mutex(State())

  /// Nothing was heard yet.
  package init() {}

  /// Returns the dates that are kept of these transactions; those without any are left out.
  package func heard(of transactions: [TransactionKey]) -> [TransactionKey: Heard] {
    state.locked { state in
      guard !state.entries.isEmpty else { return [:] }
      return Dictionary(
        transactions.compactMap { key in state.entries[key].map { (key, $0.heard) } },
        uniquingKeysWith: { $1 })
    }
  }

  /// Keeps these dates, all of them or none. `isWriter` says that a write of their rows is the caller's own.
  package func note(_ dates: [Dated], isWriter: Bool = false) -> Noting {
    guard !dates.isEmpty else { return .kept }
    return state.locked { state in
      let fits = dates.allSatisfy { date in
        (state.entries[date.key].map { $0.heard.written == date.heard.written } ?? true)
          && state.writes[date.key, default: 0] <= (isWriter ? 1 : 0)
      }
      guard fits else { return .outdated }
      let added = dates.count { state.entries[$0.key] == nil }
      guard state.makeRoom(for: added) else { return .full }
      for date in dates {
        let known = state.entries[date.key]?.heard ?? date.heard
        state.entries[date.key] = Entry(
          heard: Heard(
            written: date.heard.written, asOf: max(known.asOf, date.heard.asOf),
            licenseAsOf: [known.licenseAsOf, date.heard.licenseAsOf].compactMap { $0 }.max()))
      }
      return .kept
    }
  }

  /// A write of statements about these begins: what is heard of them until its end is written after it.
  package func begin(_ transactions: Set<TransactionKey>) {
    state.locked { state in
      for key in transactions { state.writes[key, default: 0] += 1 }
    }
  }

  /// The write that ``begin(_:)`` announced is over, whether it was committed or not.
  package func end(_ transactions: Set<TransactionKey>) {
    state.locked { state in
      for key in transactions {
        let rest = state.writes[key, default: 1] - 1
        state.writes[key] = rest > 0 ? rest : nil
      }
    }
  }

  /// The rows of these have those dates now. Who has read them before hears of it with ``note(_:isWriter:)``.
  package func wrote(_ dates: [TransactionKey: Timestamp]) {
    state.locked { state in
      for (key, date) in dates {
        guard state.entries[key] != nil || state.entries.count < Self.maximumCount else { continue }
        state.entries[key] = Entry(heard: Heard(written: date, asOf: date))
      }
    }
  }

  /// Returns the dates that are not written down yet, at most `limit` of them.
  package func unwritten(limit: Int) -> [Dated] {
    state.locked { state in
      var dates: [Dated] = []
      for (key, entry) in state.entries where entry.heard.isUnwritten {
        dates.append(Dated(key: key, heard: entry.heard))
        guard dates.count < limit else { break }
      }
      return dates
    }
  }

  /// These were written down, unless something else was meanwhile.
  package func confirm(_ dates: [Dated]) {
    state.locked { state in
      for date in dates {
        guard let known = state.entries[date.key]?.heard, known.written == date.heard.written else {
          continue
        }
        state.entries[date.key] = Entry(
          heard: Heard(
            written: date.heard.asOf, asOf: known.asOf,
            licenseAsOf: known == date.heard ? nil : known.licenseAsOf))
      }
    }
  }

  /// Forgets what is written down, and was for one pass at least.
  package func forgetOld() {
    state.locked { state in
      state.entries = state.entries.filter { $1.isNew || $1.heard.isUnwritten }
      for index in state.entries.values.indices { state.entries.values[index].isNew = false }
    }
  }

  /// Transactions of which something is kept.
  package var count: Int { state.locked { $0.entries.count } }
}
