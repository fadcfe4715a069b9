import CoreTypes
import Database
import PullboxAPI
import ServiceRuntime

/// Writes down what was sent for each grant: twice a second, before it is asked for, and at the end.
struct DeliveryRecorder: Sendable {
  /// At most this much of the count is lost when the server dies while the database takes writes.
  static let interval: Duration = .milliseconds(500)

  let meters: MeterRegistry
  let database: Database
  let timer: any MonotonicClock

  /// After this call the database counts everything that was sent before it. Calls may overlap: the database
  /// takes them in order.
  func record() async throws {
    let taken = meters.drain()
    guard !taken.isEmpty else { return }
    do {
      try await database.write(locking: []) { connection in
        for (handle, bytes) in taken {
          try GrantTable.addDelivered(bytes, to: handle, in: connection)
        }
      }
    } catch {
      // Not written down, so not forgotten either.
      meters.restore(taken)
      throw error
    }
  }

  /// Works until the task is cancelled; ``DeliveryServer/stop()`` records once more. What cannot be written
  /// down now is kept and logged: deliveries go on.
  func run(log: Log) async {
    let backoff = Backoff(initial: Self.interval, cap: .seconds(1))
    await Worker(clock: timer, backoff: backoff).run(every: Self.interval, record) { error in
      log.error("what was sent cannot be written down", ["error": LogValue(error)])
    }
  }
}

extension DeliveryRecorder: MetricSource {
  /// What was sent until the page was asked for is recorded first.
  func register(in metrics: inout MetricRegistry) {
    let delivery: [Metric<MeterRegistry>] = [
      .counter("pullbox_delivered_bytes_total", help: "Body bytes of packages sent since the start.") {
        $0.totalRecorded.rawValue
      },
      .gauge("pullbox_delivery_bodies", help: "Bodies of packages on their way.") { $0.bodies },
    ]
    metrics.register(delivery) {
      try await record()
      return meters
    }
  }
}
