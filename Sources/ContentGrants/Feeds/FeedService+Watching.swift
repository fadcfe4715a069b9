import Commerce
import ContentCatalog
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import ServiceRuntime
import Synchronization

/// The work of feeds in the background, and the changes by other processes that wake those who wait.
extension FeedService {
  /// Tells the polls that wait, wakes those who wait where another process has changed the catalog, and forgets feeds that are not
  /// asked any more; until the task is cancelled. While no request waits, it asks the database nothing but the latter, by the day.
  package func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch() }
      group.addTask { await self.hearOfCatalog() }
      group.addTask { await self.hearOfCustomers() }
      group.addTask { await self.news?.run() }
      group.addTask(priority: .utility) { await self.tellPolls() }
    }
  }

  /// Wakes those who wait where another node has changed the catalog, until the task is cancelled.
  private func hearOfCatalog() async {
    let reader = database.reader(of: .catalog)
    while await reader.next() != nil { waiters.wake() }
  }

  /// Wakes those who wait for what other nodes have heard of their customers, until the task is cancelled.
  private func hearOfCustomers() async {
    let reader = database.reader(of: .feeds)
    while let news = await reader.next() {
      guard waiters.mustHear else { continue }
      switch news {
      case .of(let names):
        let customers = names.compactMap { Hexadecimal.decode($0).flatMap { CustomerIdentifier($0) } }
        await wakeWaiters(of: Set(customers))
      case .ofAnything: waiters.wake()
      }
    }
  }

  private func watch() async {
    await watcher.run(every: Self.watchInterval) { [self] in
      let now = timer.now()
      if watched.locked({ $0.swept.map { now - $0 >= Self.day } ?? true }) {
        let cutoff = clock.now() - Self.memory
        let forgotten = try await database.write(locking: []) {
          try FeedTable.forget(unusedSince: cutoff, limit: 500, in: $0)
        }
        if forgotten < 500 { watched.locked { $0.swept = now } }
      }
      waiters.withQuiet { $0.forgetOld(at: now) }
      guard waiters.mustHear || watched.locked({ $0.revision == nil }) else { return }
      let revision = try await catalog.renewed().revision
      let isNew = watched.locked { watched in
        defer { watched.revision = revision }
        return watched.revision.map { $0 != revision } ?? false
      }
      if isNew { waiters.wake() }
    } onFailure: { [log] error in
      log.warning("feeds cannot be watched", ["error": LogValue(error)])
    }
  }
}
