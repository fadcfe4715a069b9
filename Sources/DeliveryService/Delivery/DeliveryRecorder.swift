import Database
import Measures
import PullboxAPI

/// Writes down what was sent for each grant: now and then, before anybody asks for it, and at the end.
struct DeliveryRecorder: Sendable {
  /// At most this much of the count is lost when the server dies.
  static let interval: Duration = .milliseconds(500)

  let meters: DeliveryMeters
  let database: Database

  /// After this call the database counts everything that was sent before it. Calls may overlap: the database takes them
  /// in order.
  func record() async throws {
    let taken = meters.take()
    guard !taken.isEmpty else { return }
    try await database.write { connection in
      for (grant, bytes) in taken {
        guard let id = grant.identifier else { continue }
        try GrantTable.addDelivered(bytes, to: id, in: connection)
      }
    }
    for (_, bytes) in taken { meters.addToTotal(bytes) }
  }

  /// Works until the task is cancelled, and records once more then.
  func run(clock: any MonotonicClock) async throws {
    while !Task.isCancelled {
      // Cancelled: the last record follows.
      try? await clock.sleep(for: Self.interval)
      try await record()
    }
  }
}
