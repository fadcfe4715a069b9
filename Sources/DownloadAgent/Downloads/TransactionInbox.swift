import Commerce
import CoreTypes
import ServiceAPI
import ServiceRuntime
import Synchronization

/// The reports of downloads to their transactions, kept until ``TransactionManager`` reads them in its next turn.
final class TransactionInbox: Sendable {
  /// The server's answer to the report of a download.
  struct Report: Hashable, Sendable {
    /// The transaction that the download belongs to.
    var transaction: TransactionIdentifier
    /// The grant that was reported.
    var grant: GrantIdentifier
    /// The grant's state, as the server said.
    var state: GrantState
  }

  /// The messages since the last turn.
  struct Messages: Sendable {
    /// Transactions with a download that ended, or is under way again.
    var changed: Set<TransactionIdentifier> = []
    /// The accepted reports, in their order.
    var reports: [Report] = []
  }

  /// The messages behind their lock: downloads note them from any thread.
  private let messages = Mutex(Messages())
  /// Signalled with every message.
  let wakeUp: AsyncSignal

  /// An empty inbox that wakes the reader by that signal.
  init(wakeUp: AsyncSignal) {
    self.wakeUp = wakeUp
  }

  /// A download of it ended, failed, or is under way again.
  func noteChange(of transaction: TransactionIdentifier) {
    _ = messages.locked { $0.changed.insert(transaction) }
    wakeUp.signal()
  }

  /// The server accepted the report of a download.
  func noteReport(of transaction: TransactionIdentifier, grant: GrantIdentifier, state: GrantState) {
    messages.locked { $0.reports.append(Report(transaction: transaction, grant: grant, state: state)) }
    wakeUp.signal()
  }

  /// Returns the messages since the last call. It takes them in one moment, so that no message is read twice.
  func removeAll() -> Messages {
    messages.locked { messages in
      defer { messages = Messages() }
      return messages
    }
  }
}
