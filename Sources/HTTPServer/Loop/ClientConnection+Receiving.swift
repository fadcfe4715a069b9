internal import SystemCalls

/// Receiving within a turn, which what arrives is counted against.
extension ClientConnection {
  /// The outcome of one look at the socket.
  enum Received: Hashable {
    /// So many bytes arrived.
    case bytes(Int)
    /// None are there now.
    case nothing
    /// The peer has ended its side; all that it sent was read.
    case ended
    /// The connection is lost.
    case broken
    /// There is a TLS session now.
    case handshakeEnded
    /// There will be no TLS session.
    case refused
  }

  /// Receives into the loop's scratch memory, after the handshake if there is one.
  mutating func receive(
    through line: some ConnectionLine, upTo limit: Int, with services: inout LoopServices
  ) -> Received {
    if tls.isActive { return note(receiveSecure(upTo: limit, with: services), upTo: limit, with: &services) }
    do {
      let count = try unsafe line.receive(into: services.receiveScratch.base, upTo: limit)
      let received = count.map { $0 == 0 ? Received.ended : .bytes($0) } ?? .nothing
      return note(received, upTo: limit, with: &services)
    } catch {
      return .broken
    }
  }

  private mutating func note(
    _ received: Received, upTo limit: Int, with services: inout LoopServices
  ) -> Received {
    switch received {
    case .bytes(let count):
      services.turn.bytes -= count
      // Less than was asked for is all there is.
      if count < limit, !readsToEnd { mayReceive = false }
    case .nothing, .ended: mayReceive = false
    case .handshakeEnded, .broken, .refused: break
    }
    return received
  }
}
