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
