import CoreTypes
internal import Synchronization

/// The statements that a database's connections prepared lately, and what they cost: for tests.
final class StatementLog: Sendable {
  final class Entry: Sendable {
    let sql: String
    let steps = Atomic<Int>(0)

    init(sql: String) {
      self.sql = sql
    }
  }

  private struct State {
    var entries: [String: Entry] = [:]
    /// The first prepared first.
    var order: [Entry] = []
  }

  private static let capacity = 1024
  private let state = Mutex(State())

  /// The one entry of that text.
  func entry(for sql: String) -> Entry {
    state.locked { state in
      if let entry = state.entries[sql] { return entry }
      let entry = Entry(sql: sql)
      state.entries[sql] = entry
      state.order.append(entry)
      if state.order.count > Self.capacity { state.entries[state.order.removeFirst().sql] = nil }
      return entry
    }
  }

  /// In the order in which they were first prepared.
  var texts: [String] { state.locked { $0.order.map(\.sql) } }

  /// Returns the steps that each statement took since the last call. Statements that took none are left out.
  func takeSteps() -> [(sql: String, steps: Int)] {
    state.locked { $0.order }.compactMap { entry in
      let steps = entry.steps.exchange(0, ordering: .relaxed)
      return steps > 0 ? (entry.sql, steps) : nil
    }
  }
}
