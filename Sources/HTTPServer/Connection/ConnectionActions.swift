/// What the loop has to do for a connection, in this order.
struct ConnectionActions: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  /// Offer the request to the handlers.
  static let offer = ConnectionActions(rawValue: 1 << 0)
  static let sendContinue = ConnectionActions(rawValue: 1 << 1)
  /// Send the response to a refused head, or to one that did not come in time.
  static let sendRefusal = ConnectionActions(rawValue: 1 << 2)
  /// Tell the handler that its request's content is complete.
  static let endBody = ConnectionActions(rawValue: 1 << 3)
  /// Tell the handler that its request's content will not be complete.
  static let failBody = ConnectionActions(rawValue: 1 << 4)
  static let cancelHandler = ConnectionActions(rawValue: 1 << 5)
  /// Go on with input: what is buffered, then the socket.
  static let read = ConnectionActions(rawValue: 1 << 6)
  /// Close the sending half and throw away what arrives until the peer closes its own.
  static let linger = ConnectionActions(rawValue: 1 << 7)
  static let close = ConnectionActions(rawValue: 1 << 8)
}
