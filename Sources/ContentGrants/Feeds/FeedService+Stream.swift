import Commerce
import CoreTypes
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Synchronization

/// The feed as server-sent events (WHATWG HTML §9.2), for clients that keep a connection: each entry is an event named by its
/// kind, and its id is the cursor behind it, so that a client that comes again with `Last-Event-ID` hears what it missed.
///
/// A stream begins with an event `feed`, with the token that replaces the one it was opened with, and `whole` where what follows
/// is everything there is to tell. It ends after ``streamLifetime``, and when a later request of the same feed comes.
extension FeedService {
  /// How long a stream lasts: the client comes again, perhaps to another server.
  static let streamLifetime: Duration = .seconds(3600)
  /// How often a stream without news shows a sign of life.
  static let heartbeat: Duration = .seconds(30)
  /// The time that a client waits before it comes again, in milliseconds.
  private static let retry = 5000

  /// An event of a stream.
  enum StreamEvent {
    /// New items, in the order of their sequence.
    case items([FeedItem])
    /// Nothing has come for ``heartbeat``. The client sees a comment line, by which it knows that the stream
    /// lives.
    case heartbeat
  }

  /// The stream of a feed of which `page`, which it tells first, is what is behind `cursor`. `base` is put before the address of
  /// the feed where no public URL is configured. The stream ends early when the client takes no more. Throws
  /// the error of an opening event that cannot be encoded.
  func stream(
    _ feed: Name, of device: DeviceIdentifier, after cursor: Cursor?, opening page: Page, base: String
  ) throws -> ResponseBody {
    let told = (page.isWhole ? nil : cursor) ?? Cursor(epoch: page.cursor.epoch, sequence: 0)
    let opening = try Self.lines(
      "feed", id: told,
      FeedOpening(isWhole: page.isWhole, feed: reference(to: feed, of: device, base: base)))
    return .stream { [self] writer in
      try await writer.write(Array("retry: \(Self.retry)\n".utf8) + opening)
      try await follow(feed, after: told, for: Self.streamLifetime, heartbeat: Self.heartbeat) { event in
        switch event {
        case .heartbeat: try await writer.write(":\n\n")
        case .items(let items):
          for item in items {
            let place = Cursor(epoch: told.epoch, sequence: item.sequence)
            try await writer.write(try Self.lines(item.kind.rawValue, id: place, entry(item)))
          }
        }
      }
    }
  }

  /// Tells what a feed has behind `cursor`, as long as `duration`. Returns also when a later request of the same feed comes, when
  /// the feed is another one by now, and when the server stops. Throws what `tell` throws.
  func follow(
    _ feed: Name, after cursor: Cursor, for duration: Duration, heartbeat: Duration,
    tell: (StreamEvent) async throws -> Void
  ) async throws {
    let deadline = timer.now() + duration
    let waiter = waiters.add(feed.number)
    defer { waiters.remove(waiter) }
    var cursor = cursor
    while !waiter.isOver, !Task.isCancelled, timer.now() < deadline {
      guard let look = try await look(feed, after: cursor), !look.page.isWhole else { return }
      if !look.page.items.isEmpty {
        told.add(look.page.items.count, ordering: .relaxed)
        try await tell(.items(look.page.items))
        cursor = look.page.cursor
      }
      // Nothing is looked at again before there may be something.
      let due = look.next.map { timer.now() + max($0 - clock.now(), .milliseconds(1)) } ?? deadline
      let end = min(due, deadline)
      var isNews = false
      while !isNews, !Task.isCancelled, timer.now() < end {
        let pause = min(end - timer.now(), heartbeat)
        isNews = await waiter.signal.wait(atMost: pause, clock: timer)
        if !isNews, !Task.isCancelled, timer.now() < end { try await tell(.heartbeat) }
      }
    }
  }

  /// JSON has no line breaks, so that one `data` line holds it.
  private static func lines(_ event: String, id: Cursor, _ data: some Encodable) throws -> [UInt8] {
    Array("id: \(id)\nevent: \(event)\ndata: ".utf8) + (try APIJSON.encode(data)) + Array("\n\n".utf8)
  }
}
