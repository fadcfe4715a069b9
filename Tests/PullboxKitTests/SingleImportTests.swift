import PullboxKit
import Testing

/// An app's file: it imports the kit and nothing else of ours. That it compiles is most of the test.
@Suite struct SingleImportTests {
  private final class Shelf: PaymentQueueObserver {
    func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async {
      for transaction in transactions { print(transaction.product.description, transaction.id.description) }
    }

    func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {
      for download in downloads where download.length ?? .zero > ByteCount.mebibytes(1) {
        print(download.id.description, download.state.rawValue, download.error?.detail ?? "")
      }
    }
  }

  @Test("the names of an app's first twenty lines come with one import") func names() async throws {
    let issue = try #require(ProductIdentifier("com.example.heroes.issue42"))
    let agent = try AgentClient(socketPath: "/nonexistent/agent.sock")
    let queue = PaymentQueue(agent)
    queue.add(observer: Shelf())
    do {
      try await queue.add(Payment(product: issue))
      Issue.record("there is no agent")
    } catch let error as APICallError {
      guard case .unreachable(let cause) = error else { throw error }
      let _: HTTPClientError = cause
      #expect(error.isUnavailable)
    }
  }
}
