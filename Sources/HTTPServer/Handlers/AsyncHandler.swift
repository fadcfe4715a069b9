/// Answers requests off the loops, in a structured task each. The task is cancelled when the peer vanishes (as far as
/// TCP tells: a peer that only closed its sending half counts as vanished too) or the drain deadline passes; what it then
/// answers is still sent if anybody listens.
public protocol AsyncHandler: Sendable {
  func respond(to request: HTTPRequest) async -> HTTPResponse
}
