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
