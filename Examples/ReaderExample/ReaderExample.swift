import Commerce
import Foundation
import PullboxKit

/// A reader's app on a terminal: shows what the agent of this device is doing, buys an issue, and ends when its content has
/// been placed.
///
///     swift run ReaderExample /run/pullbox/agent.sock com.example.kestrelstation.issue1
///
/// Without a product it only shows, until it is interrupted. An app with windows does the same: it makes one
/// ``PaymentQueue``, adds its observers, runs the queue in a task for as long as it lives, and draws what they are told.
/// Downloads need no call: the agent fetches what is paid for, also when no app runs.
@main
struct ReaderExample {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard let socket = arguments.first, arguments.count <= 2 else {
      fail("usage: ReaderExample SOCKET [PRODUCT]", code: 2)
    }
    var product: ProductIdentifier?
    if arguments.count == 2, let name = arguments.last {
      product = ProductIdentifier(name)
      if product == nil { fail("'\(name)' is no product identifier", code: 2) }
    }
    do {
      let queue = PaymentQueue(try AgentClient(socketPath: socket))
      try await show(queue, buying: product)
    } catch {
      fail("\(error)", code: 1)
    }
  }

  /// Returns when the transaction of `product` has left the queue; without one, never. Throws when there is no agent, or the
  /// store does not take the payment.
  private static func show(_ queue: PaymentQueue, buying product: ProductIdentifier?) async throws {
    let (news, continuation) = AsyncStream.makeStream(of: Shelf.News.self)
    let shelf = Shelf(news: continuation)
    queue.add(observer: shelf)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { continuation.finish() }
        try await queue.run()
      }
      var bought: PaymentTransaction?
      for await item in news {
        switch item {
        case .connected:
          // The observer hears of the transaction from its beginning, as the queue runs already.
          if let product, bought == nil { bought = try await queue.add(Payment(product: product)) }
        case .ended(let transaction):
          if transaction.id == bought?.id {
            group.cancelAll()
            return
          }
        }
      }
      // The queue has ended by itself: why is its error.
      try await group.waitForAll()
    }
  }

  private static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("ReaderExample: \(message)\n".utf8))
    exit(code)
  }
}

/// Prints a line for each change.
private final class Shelf: PaymentQueueObserver {
  enum News: Sendable {
    case connected
    case ended(PaymentTransaction)
  }

  private let news: AsyncStream<News>.Continuation

  init(news: AsyncStream<News>.Continuation) {
    self.news = news
  }

  func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {
    print(isConnected ? "The agent answers." : "The agent is away; waiting for it.")
    if isConnected { news.yield(.connected) }
  }

  func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async {
    for transaction in transactions {
      let reason = transaction.reason.map { " (\($0))" } ?? ""
      print("\(transaction.product): \(transaction.state)\(reason)")
    }
  }

  func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {
    for transaction in transactions { news.yield(.ended(transaction)) }
  }

  func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {
    for download in downloads {
      var line = "\(download.product): \(Int(download.progress * 100)) %, \(download.reason)"
      if let rest = download.timeRemaining { line += ", \(rest.components.seconds) s left" }
      if let path = download.contentPath { line += ", \(path)" }
      print(line)
    }
  }
}
