public import HTTPParsing

/// Answers requests on the event loop that read them, without a task: the fast way for content that is at
/// hand.
///
/// The server asks its inline handler first, for each request without content. The handler writes an
/// ``InlineResponse``, or leaves the request to the ``AsyncHandler`` with ``InlineOutcome/deferToAsync``. It
/// runs on the loop's thread and must not block: every other connection of the loop waits. A handler on the
/// hot path also avoids allocations, locks and reference counting; the ``RequestHead`` and the response are
/// made for that. State that one connection keeps between its requests is the ``ConnectionState``.
///
/// ```swift
/// struct HealthHandler: InlineHandler {
///   func makeConnectionState() {}
///
///   func respond(
///     head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
///   ) -> InlineOutcome {
///     guard head.method == .get, head.path.count == 7 else { return .deferToAsync }  // "/health"
///     response.start(.noContent)
///     response.finish()
///     return .answered
///   }
/// }
/// ```
public protocol InlineHandler: Sendable {
  /// Remembered for a connection between its requests (such as the ticket verified last); touched by one
  /// thread only.
  associatedtype ConnectionState

  /// The handler for one event loop. A handler that remembers what no other loop may touch returns a copy
  /// here.
  func copyForLoop() -> Self

  /// The state of a connection that has just been accepted. Called on the loop's thread.
  func makeConnectionState() -> ConnectionState

  /// Answers a request, or defers it. `bytes` is the input into which the ranges of `head` point; neither may
  /// be kept. A request with content never comes here. Called on the loop's thread; must not block.
  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout ConnectionState,
    response: inout InlineResponse
  ) -> InlineOutcome

  /// The connection waits for its next request, and ``HTTPServer/releaseIdleFiles()`` was called: what `state` keeps open is to
  /// be let go. Called on the loop's thread.
  func releaseFiles(of state: inout ConnectionState)

  /// ``HTTPServer/releaseIdleFiles()`` was called: what the handler of this loop itself keeps open is to be let go. Called on
  /// the loop's thread.
  func releaseFiles()
}

extension InlineHandler {
  /// One handler for all loops.
  public func copyForLoop() -> Self { self }

  /// For a state that keeps no file open.
  public func releaseFiles(of state: inout ConnectionState) {}

  /// For a handler that keeps no file open.
  public func releaseFiles() {}
}

/// Whether an ``InlineHandler`` has answered a request.
public enum InlineOutcome: Sendable {
  /// One of the `finish` methods of ``InlineResponse`` was called.
  case answered
  /// The ``AsyncHandler`` gets the request. What was put into the response is dropped.
  case deferToAsync
}

/// Knows a loop's inline handler without its type. One per loop, on the loop's thread only.
class InlineDispatcher {
  func open(_ index: Int) {}
  func close(_ index: Int) {}
  func releaseFiles(_ index: Int) {}
  func releaseFiles() {}
  func respond(
    _ index: Int, head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> InlineOutcome { .deferToAsync }
}

/// Holds the handler's state of each connection beside the loop's table, index for index.
// Safe although it holds a pointer: it owns the memory, and the loop opens each index before use and closes
// it after.
@safe
final class TypedInlineDispatcher<Handler: InlineHandler>: InlineDispatcher {
  private let handler: Handler
  private let states: UnsafeMutablePointer<Handler.ConnectionState>

  init(_ handler: Handler, capacity: Int) {
    self.handler = handler
    unsafe states = .allocate(capacity: capacity)
  }

  deinit {
    // Every connection was closed when its loop ended.
    unsafe states.deallocate()
  }

  override func open(_ index: Int) {
    unsafe (states + index).initialize(to: handler.makeConnectionState())
  }

  override func close(_ index: Int) {
    unsafe (states + index).deinitialize(count: 1)
  }

  override func releaseFiles(_ index: Int) {
    unsafe handler.releaseFiles(of: &states[index])
  }

  override func releaseFiles() { handler.releaseFiles() }

  override func respond(
    _ index: Int, head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> InlineOutcome {
    unsafe handler.respond(head: head, bytes: bytes, state: &states[index], response: &response)
  }
}

/// Answers requests off the event loops, in a task each: the way for everything that waits.
///
/// The task is cancelled when the peer disconnects (as far as TCP tells: a peer that only closed its sending
/// half counts too) or the drain deadline passes; an answer that it still gives is sent if the connection is
/// open. A ``Router`` is the usual handler.
public protocol AsyncHandler: Sendable {
  /// Answers one request. May run for as long as it likes; a failure is a response of the handler's own
  /// making.
  func respond(to request: HTTPRequest) async -> HTTPResponse
}
