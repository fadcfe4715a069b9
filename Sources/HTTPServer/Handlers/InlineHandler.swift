/// Answers requests on the loop that read them: without waiting for anything, and on its hot path without allocating,
/// without locks and without reference counting. Whatever needs more than that is passed on.
public protocol InlineHandler: Sendable {
  /// Remembered for a connection between its requests (such as the ticket verified last); touched by one thread only.
  associatedtype ConnectionState

  /// For one event loop: a copy of its own where the handler remembers something that no other loop is to touch.
  func copyForLoop() -> Self

  /// For a connection just accepted.
  func makeConnectionState() -> ConnectionState

  /// `bytes` is the input in which the ranges of `head` point; neither may be kept. A request with content is never
  /// offered here.
  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout ConnectionState,
    response: inout InlineResponse
  ) -> InlineOutcome
}

extension InlineHandler {
  public func copyForLoop() -> Self { self }
}

/// What an ``InlineHandler`` made of a request.
public enum InlineOutcome: Sendable {
  /// One of the `finish` methods of ``InlineResponse`` was called.
  case answered
  /// Not for this handler: the ``AsyncHandler`` gets the request. What was put into the response is forgotten.
  case passOn
}

/// Knows a loop's inline handler without its type. One per loop, on the loop's thread only.
class InlineDispatcher {
  func open(_ index: Int) {}
  func close(_ index: Int) {}
  func respond(
    _ index: Int, head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> InlineOutcome { .passOn }
}

/// Holds the handler's state of each connection beside the loop's table, index for index.
// Safe although it holds a pointer: it owns the memory, and the loop opens each index before use and closes it after.
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

  override func respond(
    _ index: Int, head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> InlineOutcome {
    unsafe handler.respond(head: head, bytes: bytes, state: &states[index], response: &response)
  }
}
