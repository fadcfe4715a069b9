import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// Everything the agent remembers of a download.
struct DownloadRecord: MachineRecord {
  let identifier: DownloadIdentifier
  /// Order of creation.
  let sequence: Int64
  let transaction: TransactionIdentifier
  let product: ProductIdentifier
  var machine = DownloadMachine()
  /// Higher goes first.
  var priority = 0
  var grant: GrantIdentifier?
  var terms: DownloadTerms?
  /// At the last time it was persisted; a running transfer counts in its ``TransferProgress``.
  var bytesVerified = ByteCount.zero
  var bytesReceived = ByteCount.zero
  var placedAt: Timestamp?
  /// What a reader opens.
  var contentPath: String?

  init(
    identifier: DownloadIdentifier, sequence: Int64, transaction: TransactionIdentifier,
    product: ProductIdentifier
  ) {
    self.identifier = identifier
    self.sequence = sequence
    self.transaction = transaction
    self.product = product
  }

  /// How it ended, for its transaction.
  var outcome: TransactionMachine.Outcome {
    switch machine.state {
    case .waiting, .active, .paused: .pending
    case .finished: .delivered
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }

  /// What the control interface shows.
  func status(_ estimate: ProgressEstimator.Estimate) -> DownloadStatus {
    DownloadStatus(
      id: identifier, product: product, version: terms?.version, transaction: transaction,
      state: machine.state, reason: machine.reason.rawValue, bytesVerified: bytesVerified,
      bytesTotal: terms?.length, bytesReceived: bytesReceived,
      progress: machine.state == .finished
        ? 1 : ProgressEstimator.fraction(verified: bytesVerified, of: terms?.length),
      timeRemaining: estimate.timeRemaining, speed: estimate.speed, error: machine.problem,
      contentPath: machine.state == .finished ? contentPath : nil)
  }
}

extension DownloadIdentifier {
  /// 64 random bits. Also the name of the download's staging folder.
  static func random() -> DownloadIdentifier {
    guard let identifier = DownloadIdentifier(Hexadecimal.encode(RandomBytes.make(8))) else {
      preconditionFailure("16 hexadecimal digits name a download")
    }
    return identifier
  }
}
