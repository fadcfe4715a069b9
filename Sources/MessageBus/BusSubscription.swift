/// The news of one sender: whether it is there, and its signals. Read by one task; it ends when it is canceled, when the last reference
/// goes, and when the connection is closed. At most 256 pieces of news wait; then ``BusNews/missed`` takes their place.
public final class BusSubscription: AsyncSequence, Sendable {
  /// News.
  public typealias Element = BusNews

  let identifier: Int
  let match: BusMatch
  let queue: BusQueue<BusNews>
  private let mailbox: BusMailbox

  static let bound = 256

  init(_ match: BusMatch, in mailbox: BusMailbox) {
    self.match = match
    self.mailbox = mailbox
    identifier = mailbox.newIdentifier()
    queue = BusQueue(bound: Self.bound)
  }

  deinit { mailbox.post(.unsubscribe(identifier)) }

  /// Ends the subscription.
  public func cancel() {
    mailbox.post(.unsubscribe(identifier))
    queue.finish()
  }

  /// Reads the news, one after another.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

  /// Reads the news of one subscription.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: BusSubscription

    /// The next piece of news; nil at the end, and when the task is canceled.
    public mutating func next() async -> BusNews? { await subscription.queue.next() }

    /// The next piece of news, for the runtime; nil at the end, and when the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> BusNews? {
      await subscription.queue.next()
    }
  }
}

/// The loop's record of a subscription: it must not keep the subscription itself, whose end it waits for.
struct SubscriptionRecord: Sendable {
  let identifier: Int
  let match: BusMatch
  let queue: BusQueue<BusNews>

  init(_ subscription: BusSubscription) {
    identifier = subscription.identifier
    match = subscription.match
    queue = subscription.queue
  }

  /// Hands news to the reader. `owner` owns the sender's name now.
  func push(_ news: BusNews, owner: BusName?) {
    guard !queue.push(news) else { return }
    queue.replace(with: [.missed, owner.map { .appeared($0) } ?? .vanished])
  }
}
