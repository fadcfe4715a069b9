package import CoreTypes
package import Database
import DeliveryRecords
import Synchronization

/// The bytes that this process sent in each hour, until they are written down: for sums over days, which no look at grants could make.
/// Each hour's number in the database grows to what this process knows, so that a write whose answer was lost is made again.
package final class DeliveredHours: Sendable {
  private struct Hour {
    /// Bytes that were sent in this hour before this process, or before it looked last; nil until that is read.
    var before: ByteCount?
    var bytes = ByteCount.zero
    var isWritten = false
  }

  private struct State {
    /// All that was sent by this process, as of the last look.
    var total = ByteCount.zero
    var hours: [Timestamp: Hour] = [:]
  }

  /// Hours that are kept while the database cannot be written; what was sent before them counts to the first of them.
  static let maximumHours = 48

  private let state = Mutex(State())

  package init() {}

  /// Writes down how much was sent since the last call, as sent in the hour of `now`. `total` is all that this process has sent.
  /// Throws ``DatabaseError``; nothing is forgotten then.
  package func record(
    total: ByteCount, at now: Timestamp, by node: Int64, in database: Database
  ) async throws {
    let current = DeliveredHoursTable.hour(of: now)
    let open = state.withLock { state in
      if total > state.total {
        state.hours[current, default: Hour()].bytes += total - state.total
        state.hours[current]?.isWritten = false
        state.total = total
      }
      Self.limit(&state.hours)
      return state.hours.filter { !$0.value.isWritten }.keys.sorted()
    }
    for hour in open { try await write(hour, of: node, isOver: hour != current, in: database) }
  }

  private func write(
    _ hour: Timestamp, of node: Int64, isOver: Bool, in database: Database
  ) async throws {
    let known = state.withLock { $0.hours[hour]?.before }
    let before =
      if let known {
        known
      } else {
        try await database.read { try DeliveredHoursTable.bytes(in: hour, sentBy: node, in: $0) }
      }
    let bytes = state.withLock { state -> ByteCount? in
      // Of two that read it the first one counts: the other may have read what that one has written.
      if state.hours[hour]?.before == nil { state.hours[hour]?.before = before }
      return state.hours[hour].map { ($0.before ?? before) + $0.bytes }
    }
    guard let bytes else { return }
    try await database.write(locking: []) {
      try DeliveredHoursTable.raise(to: bytes, in: hour, sentBy: node, in: $0)
    }
    state.withLock { state in
      guard let written = state.hours[hour], (written.before ?? before) + written.bytes == bytes else {
        return
      }
      state.hours[hour]?.isWritten = true
      if isOver { state.hours[hour] = nil }
    }
  }

  private static func limit(_ hours: inout [Timestamp: Hour]) {
    while hours.count > maximumHours {
      let first = hours.keys.sorted().prefix(2)
      guard let oldest = first.first, let next = first.last, let removed = hours.removeValue(forKey: oldest)
      else { return }
      guard !removed.isWritten else { continue }
      hours[next]?.bytes += removed.bytes
      hours[next]?.isWritten = false
    }
  }
}
