import Commerce
import HTTPClient
import PullboxAPI

/// A test's view of the agent, through its Unix socket.
struct AgentClient: Sendable {
  /// The agent ended the stream of events before what was awaited came.
  struct StreamEnded: Error {
    var cause: String
  }

  let web: Web

  init(socket: String, client: HTTPClient) {
    web = Web(base: "http://agent", socket: socket, client: client)
  }

  func buy(_ product: String) async throws -> Answer {
    try await web.post("/v1/purchases", ["product": product])
  }

  func downloads() async throws -> [DownloadStatus] {
    try await web.get("/v1/downloads").decoded(DownloadsResponse.self).downloads
  }

  func transactions() async throws -> [AgentTransaction] {
    try await web.get("/v1/transactions").decoded(AgentTransactionsResponse.self).transactions
  }

  /// The state of that product's download once `condition` holds, now or at a later event.
  func download(
    of product: String, where condition: @Sendable @escaping (DownloadStatus) -> Bool
  ) async throws -> DownloadStatus {
    try await first {
      try await downloads().first { $0.product.description == product && condition($0) }
    } or: { event in
      guard case .download(let download) = event, download.product.description == product, condition(download)
      else { return nil }
      return download
    }
  }

  func finishedDownload(of product: String) async throws -> DownloadStatus {
    try await download(of: product) { $0.state.isFinal }
  }

  /// The transaction of that product once `condition` holds.
  func transaction(
    of product: String, where condition: @Sendable @escaping (AgentTransaction) -> Bool
  ) async throws -> AgentTransaction {
    try await first {
      try await transactions().first { $0.product.description == product && condition($0) }
    } or: { event in
      guard case .transaction(let transaction) = event, transaction.product.description == product,
        condition(transaction)
      else { return nil }
      return transaction
    }
  }

  func finishedTransaction(of product: String) async throws -> AgentTransaction {
    try await transaction(of: product) { $0.step == "finished" }
  }

  /// Listens first and looks then, so that nothing falls between.
  private func first<Value: Sendable>(
    now look: @Sendable @escaping () async throws -> Value?,
    or match: @Sendable @escaping (AgentEvent) -> Value?
  ) async throws -> Value {
    let receiver = AgentEvents()
    var request = ClientRequest(method: "GET", url: "http://agent/v1/events")
    request.unixSocketPath = web.socket
    request.lowSpeed = nil
    return try await withThrowingTaskGroup(of: Value?.self) { [request] group in
      group.addTask {
        defer { receiver.finish() }
        do {
          _ = try await web.client.stream(request, to: receiver)
          throw StreamEnded(cause: "ended by the agent")
        } catch let error as HTTPClientError where error.code == .cancelled {
          return nil
        }
      }
      group.addTask {
        for await _ in receiver.opened {}
        if let value = try await look() { return value }
        for await event in receiver.events {
          if let value = match(event) { return value }
        }
        return nil
      }
      defer { group.cancelAll() }
      while let value = try await group.next() {
        if let value { return value }
      }
      throw StreamEnded(cause: "nothing matched")
    }
  }
}
