import PullboxKit
import PullboxOperatorKit
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

  @Test("the names of an operator's tool come with one import") func operatorNames() throws {
    var client = try OperatorClient(server: "http://127.0.0.1:1", key: nil)
    client.unavailabilityRetry = UnavailabilityRetry(limit: .seconds(1), clock: SystemMonotonicClock())
    var uploader = client.uploader(resumeFile: nil)
    uploader.backoff = Backoff(initial: .milliseconds(1), jitter: 0)
    uploader.partLength = .mebibytes(8)
    let version: ContentVersion? = ContentVersion("1.2")
    let key: SigningKey = SigningKey()
    #expect(version?.description == "1.2" && key.seed.count == 32)
    let manifest: (Manifest) -> SHA256Digest = \.manifestDigest
    let problem: (Problem) -> ProblemCode? = \.code
    _ = (manifest, problem)
  }
}
