import PullboxAPI

extension Transaction {
  /// Its downloads as they stand, and then each change of one, until everything is delivered: the bar beside ``delivered``. Throws as that does.
  ///
  /// ```swift
  /// for try await download in transaction.progress { bar.fraction = download.progress }
  /// ```
  public var progress: TransactionProgress { TransactionProgress(transaction: self) }
}

/// The downloads of one transaction, for ``Transaction/progress``.
public struct TransactionProgress: AsyncSequence, Sendable {
  /// A download that is new, has changed or has made progress.
  public typealias Element = ContentDownload
  /// The errors of ``Transaction/delivered``.
  public typealias Failure = any Error

  let transaction: Transaction

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(transaction) }

  /// Follows the agent.
  public struct Iterator: AsyncIteratorProtocol {
    private let transaction: Transaction
    private var updates: AgentUpdates.Iterator
    private var waiting: ArraySlice<ContentDownload> = []
    private var isOver = false

    fileprivate init(_ transaction: Transaction) {
      self.transaction = transaction
      updates = transaction.updates.makeAsyncIterator()
    }

    /// The next change; nil once everything is delivered.
    public mutating func next() async throws -> ContentDownload? {
      while waiting.isEmpty {
        guard !isOver, let update = try await updates.next() else { return nil }
        waiting = downloads(of: update).filter { transaction.covers($0) }.map { ContentDownload($0) }[...]
        isOver = try await transaction.isDelivered(after: update)
      }
      return waiting.popFirst()
    }

    private func downloads(of update: AgentUpdate) -> [DownloadStatus] {
      switch update {
      case .snapshot(_, let downloads): downloads
      case .event(.download(let download)): [download]
      case .event, .lost: []
      }
    }
  }
}
