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
