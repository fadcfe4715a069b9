public import Commerce
public import CoreTypes
public import PullboxAPI
public import PullboxAPIClient

extension AgentClient {
  /// Calls `handle` with how everything stands that is not over, and then with every change, through restarts of the agent,
  /// until it returns ``FollowAction/stop``. After a restart, what has ended meanwhile is told as well; so are, from the
  /// beginning, `transactions` and their downloads.
  ///
  /// A first connection that fails throws its `APICallError` at once. Later ones are repeated after the
  /// delays of `backoff`, whose jitter comes from `generator`, up to `maximumFailures` in a row. Throws what
  /// `handle` throws, and `CancellationError`.
  public func follow(
    _ transactions: [TransactionIdentifier] = [],
    backoff: Backoff = Backoff(initial: .milliseconds(200), cap: .seconds(5)), maximumFailures: Int = 30,
    clock: any MonotonicClock = SystemMonotonicClock(),
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    _ handle: (AgentUpdate) async throws -> FollowAction
  ) async throws {
    var follower = AgentFollower(
      self, transactions, backoff: backoff, maximumFailures: maximumFailures, clock: clock,
      generator: generator)
    while try await handle(try await follower.next()) == .continue {}
  }

  /// Returns the live transactions and downloads, and those that were live before.
  func snapshot(_ followed: inout FollowedEntries) async throws(APICallError) -> AgentUpdate {
    var transactions = try await self.transactions(.live)
    var downloads = try await self.downloads(.live)
    for id in followed.transactions.subtracting(transactions.map(\.id)).sorted(by: { "\($0)" < "\($1)" }) {
      if let ended = try await known({ () throws(APICallError) in try await transaction(id) }) {
        followed.downloads.formUnion(ended.downloads)
        transactions.append(ended)
      }
    }
    for id in followed.downloads.subtracting(downloads.map(\.id)).sorted() {
      if let ended = try await known({ () throws(APICallError) in try await download(id) }) {
        downloads.append(ended)
      }
    }
    followed = FollowedEntries(followed.asked)
    for transaction in transactions { followed.note(.transaction(transaction)) }
    for download in downloads {
      followed.note(.download(download))
      followed.listed[download.id] = download.bytesReceived
    }
    return .snapshot(transactions: transactions, downloads: downloads)
  }

  /// Nil for what the agent has forgotten.
  private func known<Value>(_ call: () async throws(APICallError) -> Value) async throws(APICallError)
    -> Value?
  {
    do {
      return try await call()
    } catch {
      guard case .problem(let problem) = error, problem.status == 404 else { throw error }
      return nil
    }
  }
}

/// An update that a follower of the agent is called with.
public enum AgentUpdate: Sendable {
  /// Connected, for the first time or again: how everything stands. Events may repeat part of it.
  case snapshot(transactions: [AgentTransaction], downloads: [DownloadStatus])
  /// One change.
  case event(AgentEvent)
  /// The agent does not answer; it is tried again after `retryIn`. Its downloads continue when it comes back.
  case lost(APICallError?, retryIn: Duration)
}

/// The action that a follower returns after an update.
public enum FollowAction: Sendable {
  /// Wait for the next update.
  case `continue`
  /// End the following without an error.
  case stop
}

/// The transactions and downloads that a follower was told of and that may end while the agent does not answer. Their
/// number is bounded by those that are not over.
struct FollowedEntries {
  let asked: [TransactionIdentifier]
  var transactions: Set<TransactionIdentifier>
  var downloads: Set<DownloadIdentifier> = []
  /// The bytes received of each download, by the list; kept until the stream, which was opened before the list was read,
  /// has caught up.
  var listed: [DownloadIdentifier: ByteCount] = [:]

  init(_ asked: [TransactionIdentifier]) {
    self.asked = asked
    transactions = Set(asked)
  }

  /// False for progress from before the list that was told already: it would take the download back.
  mutating func isNews(_ event: AgentEvent) -> Bool {
    guard case .download(let download) = event, let known = listed[download.id] else { return true }
    let mayBeOlder = download.state == .active || download.state == .waiting
    if mayBeOlder, download.bytesReceived < known { return false }
    listed[download.id] = nil
    return true
  }

  mutating func note(_ event: AgentEvent) {
    switch event {
    case .transaction(let transaction):
      if transaction.step == "finished" || transaction.step == "failed" {
        if !asked.contains(transaction.id) { transactions.remove(transaction.id) }
      } else {
        transactions.insert(transaction.id)
      }
    case .download(let download):
      if download.state.isFinal { downloads.remove(download.id) } else { downloads.insert(download.id) }
    case .library, .issueReady, .correctionReady, .owned: break
    }
  }
}
