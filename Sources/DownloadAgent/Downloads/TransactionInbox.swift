import Commerce
import PullboxAPI
import ServiceRuntime
import Synchronization

/// What downloads have to tell their transactions; read by the watcher in its own time.
final class TransactionInbox: Sendable {
  struct Report: Hashable, Sendable {
    var transaction: TransactionIdentifier
    var grant: GrantIdentifier
    /// What the server said of the grant.
    var state: GrantState
  }

  struct News: Sendable {
    /// Transactions with a download that ended, or lives again.
    var changed: Set<TransactionIdentifier> = []
    var reports: [Report] = []
  }

  private let news = Mutex(News())
  /// Signalled with every message.
  let wakeUp: AsyncSignal

  init(wakeUp: AsyncSignal) {
    self.wakeUp = wakeUp
  }

  func noteChange(of transaction: TransactionIdentifier) {
    _ = news.withLock { $0.changed.insert(transaction) }
    wakeUp.signal()
  }

  func noteReport(of transaction: TransactionIdentifier, grant: GrantIdentifier, state: GrantState) {
    news.withLock { $0.reports.append(Report(transaction: transaction, grant: grant, state: state)) }
    wakeUp.signal()
  }

  func take() -> News {
    news.withLock { news in
      let taken = news
      news = News()
      return taken
    }
  }
}
