package import CoreTypes
package import Database
import DeliveryRecords
import Synchronization

/// The bytes that this process sent in each hour, until they are written down: for sums over days, which no look at grants could make.
/// They are noted first, whatever becomes of the database. Each hour's number there grows to what this process knows, so that a write
/// whose answer was lost is made again, and of two writes of one hour the greater counts.
package final class DeliveredHours: Sendable {
  private struct Hour {
    /// Bytes that were sent in this hour before this process, or before it looked last; nil until that is read.
    var before: ByteCount?
    /// Bytes that were noted.
    var bytes = ByteCount.zero
    /// Those of them that are in the database.
    var written = ByteCount.zero
    /// Those that may be there: of a write whose answer was lost.
    var doubtful = ByteCount.zero
    /// Writes that are on their way; the hour is kept for them.
    var writes = 0

    var isWritten: Bool { written >= bytes }
  }

  private struct State {
    /// All that was sent by this process, as it was noted last.
    var total = ByteCount.zero
    /// The hour in which it was noted last.
    var current: Timestamp?
    var hours: [Timestamp: Hour] = [:]

    /// Returns whether there is something to write of the hour, which is kept until ``endWrite(of:)`` then.
    mutating func beginWrite(of hour: Timestamp) -> Bool {
      guard let noted = hours[hour], !noted.isWritten else { return false }
      hours[hour]?.writes += 1
      return true
    }

    mutating func endWrite(of hour: Timestamp) { hours[hour]?.writes -= 1 }

    /// An hour that is over and written is forgotten; it is read again where the clock is set back to it.
    mutating func forgetWritten() {
      hours = hours.filter { hour, noted in hour == current || noted.writes > 0 || !noted.isWritten }
    }

    /// An hour that gives way leaves the next one what is not written of it. What may be written counts as written: better too few than the
    /// same bytes twice.
    mutating func limit() {
      guard hours.count > DeliveredHours.maximumHours else { return }
      for oldest in hours.keys.sorted() where hours.count > DeliveredHours.maximumHours {
        guard let removed = hours[oldest], removed.writes == 0,
          let next = hours.keys.filter({ $0 > oldest }).min()
        else { continue }
        hours[oldest] = nil
        hours[next]?.bytes += removed.bytes - max(removed.written, removed.doubtful)
      }
    }
  }

  /// Hours that are kept while the database cannot be written; what was sent before them counts to the first of them.
  static let maximumHours = 48

  private let state = Mutex(State())

  package init() {}

  /// Notes how much was sent since the last call, as sent in the hour of `now`. `total` is all that this process has sent. Asks no database,
  /// so that it comes before all that may fail or take its time.
  package func note(total: ByteCount, at now: Timestamp) {
    let current = DeliveredHoursTable.hour(of: now)
    state.locked { state in
      state.current = current
      if total > state.total {
        state.hours[current, default: Hour()].bytes += total - state.total
        state.total = total
      }
      state.forgetWritten()
      state.limit()
    }
  }

  /// Writes down all that was noted and is not written. Throws ``DatabaseError``; nothing is forgotten then, and a later call writes it.
  package func write(by node: Int64, in database: Database) async throws {
    let open = state.locked { state in state.hours.filter { !$0.value.isWritten }.keys.sorted() }
    for hour in open { try await write(hour, of: node, in: database) }
  }

  private func write(_ hour: Timestamp, of node: Int64, in database: Database) async throws {
    guard state.locked({ $0.beginWrite(of: hour) }) else { return }
    defer { state.locked { $0.endWrite(of: hour) } }
    let known = state.locked { $0.hours[hour]?.before }
    let read =
      if let known {
        known
      } else {
        try await database.read { try DeliveredHoursTable.bytes(in: hour, sentBy: node, in: $0) }
      }
    let (before, bytes) = state.locked { state in
      // Of two that read it the first one counts: the other may have read what that one has written.
      let before = state.hours[hour]?.before ?? read
      state.hours[hour]?.before = before
      return (before, state.hours[hour]?.bytes ?? .zero)
    }
    do {
      try await database.write(locking: []) {
        try DeliveredHoursTable.raise(to: before + bytes, in: hour, sentBy: node, in: $0)
      }
    } catch {
      if (error as? DatabaseError)?.commit != nil {
        state.locked { state in
          let doubtful = state.hours[hour]?.doubtful ?? .zero
          state.hours[hour]?.doubtful = max(doubtful, bytes)
        }
      }
      throw error
    }
    state.locked { state in
      // More may have been noted meanwhile, and another write may have brought more there.
      let written = state.hours[hour]?.written ?? .zero
      state.hours[hour]?.written = max(written, bytes)
    }
  }
}
