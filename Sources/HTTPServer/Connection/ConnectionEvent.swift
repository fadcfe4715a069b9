/// What can happen to a connection.
enum ConnectionEvent: Hashable, Sendable {
  /// The TLS handshake is complete.
  case handshakeEnded
  /// There will be no TLS session.
  case handshakeFailed
  /// The first bytes of a request.
  case bytesBeforeHead
  case headEnded(hasContent: Bool, keepsAlive: Bool, expectsContinue: Bool)
  /// The head was refused; the loop knows the status.
  case headRefused
  /// Bytes of content.
  case bodyArrived
  /// As much content as may wait for its handler.
  case bodyPiledUp
  /// The handler waits for content.
  case bodyWanted
  case bodyEnded
  case bodyMalformed
  /// A handler has answered. `canDiscard`: so little content is left that reading it is cheaper than a new connection.
  case responseBegan(closes: Bool, streams: Bool, canDiscard: Bool)
  /// The handler has made the last byte of a streamed response.
  case streamEnded
  /// The kernel has taken the last byte of the response.
  case responseSent
  case blocked
  case unblocked
  /// The peer has closed its sending half, and every byte it sent has been read.
  case peerEnded
  /// The connection broke, or the server gives it up.
  case abandoned
  /// The deadline that ``ConnectionMachine/deadline`` names has passed.
  case deadlinePassed
  case drainBegan
}
