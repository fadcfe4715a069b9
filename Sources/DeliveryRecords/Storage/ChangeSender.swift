package import CoreTypes
package import Database
package import ServiceRuntime
import Synchronization

/// Tells the other nodes of what changes often: names are gathered for a moment, and sent in a write of their own, so that what changes
/// them commits without waiting for others. It is a hint: what is lost with a process is found when the others next look by themselves.
///
///     let news = ChangeSender(.feeds, database: database, timer: timer, log: log)
///     news.add([customer.hexadecimal])
package final class ChangeSender: Sendable {
  /// For how long names are gathered.
  package static let gathering: Duration = .milliseconds(100)

  private let topic: ChangeTopic
  private let database: Database
  private let timer: any MonotonicClock
  private let log: Log
  private let worker: Worker
  private let gathered = Mutex<ChangeNews>(.of([]))

  /// Sends nothing until ``run()``.
  package init(_ topic: ChangeTopic, database: Database, timer: any MonotonicClock, log: Log) {
    self.topic = topic
    self.database = database
    self.timer = timer
    self.log = log
    worker = Worker(clock: timer, backoff: Backoff(initial: .milliseconds(200), cap: .seconds(2)))
  }

  /// Something of these names has changed. Of more than ``ChangeNews`` keeps, the others are told that it may be anything.
  package func add(_ changed: Set<String>) {
    guard !changed.isEmpty else { return }
    gathered.locked { $0.add(.of(changed)) }
    worker.wake()
  }

  /// Sends until the task is cancelled. What cannot be sent is logged, and sent with what comes later.
  package func run() async {
    await worker.run(send) { [log, topic] error in
      log.warning(
        "the other nodes cannot be told", ["topic": LogValue(topic.description), "error": LogValue(error)])
    }
  }

  /// Sends what has been gathered, after the moment in which more may come. Throws ``DatabaseError`` and `CancellationError`.
  func send() async throws -> Worker.Next {
    guard gathered.locked({ $0 != .of([]) }) else { return .waitForWake }
    try await timer.sleep(for: Self.gathering)
    let sent = gathered.locked { gathered in
      defer { gathered = .of([]) }
      return gathered
    }
    let topic = topic
    let names: Set<String> = if case .of(let names) = sent { names } else { [] }
    do {
      try await database.write(locking: []) { try $0.noteChange(of: topic, names: names) }
    } catch {
      gathered.locked { $0.add(sent) }
      throw error
    }
    return .again
  }
}

extension ChangeTopic {
  /// Feeds have news, by customers.
  package static let feeds = ChangeTopic("feeds")
  /// Counts of bytes are to be written down at once: a completion waits for them.
  package static let meters = ChangeTopic("meters")
  /// Dates of releases were set, moved or taken away.
  package static let schedules = ChangeTopic("schedules")
  /// Uploads were taken over by other requests: the names of their leases' new holders.
  package static let uploads = ChangeTopic("uploads")
}
