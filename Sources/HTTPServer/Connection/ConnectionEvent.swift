/// An event of a connection.
enum ConnectionEvent: Hashable, Sendable {
  /// The TLS handshake is complete.
  case handshakeEnded
  /// There will be no TLS session.
  case handshakeFailed
  /// The first bytes of a request.
  case bytesBeforeHead
  /// A head is complete. `expectsContinue`: the client sends its content once it is told 100.
  case headEnded(hasContent: Bool, keepsAlive: Bool, expectsContinue: Bool)
  /// The head was refused; the loop knows the status.
  case headRefused
  /// Bytes of content.
  case bodyArrived
  /// The content that waits for its handler has reached its bound.
  case bodyBufferFilled
  /// The handler waits for content.
  case bodyWanted
  /// The last byte of the content has arrived.
  case bodyEnded
  /// The chunked coding is broken; no request can be read behind it.
  case bodyMalformed
  /// A handler has answered. `canDiscard`: so little content is left that reading it is cheaper than a new
  /// connection.
  case responseBegan(closes: Bool, streams: Bool, canDiscard: Bool)
  /// The handler has made the last byte of a streamed response.
  case streamEnded
  /// The kernel has taken the last byte of the response. `isInputRead`: the client said that no request follows, and
  /// nothing of what it has sent waits to be read.
  case responseSent(isInputRead: Bool)
  /// The output goes on once this is over.
  case outputWaits(ConnectionMachine.Wait)
  /// The peer has closed its sending half, and every byte it sent has been read.
  case peerEnded
  /// The connection broke, or the server gives it up.
  case abandoned
  /// The deadline that ``ConnectionMachine/deadline`` names has passed.
  case deadlinePassed
  /// The server takes no more requests.
  case drainBegan
}

/// The actions that the loop performs for a connection, in this order.
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
