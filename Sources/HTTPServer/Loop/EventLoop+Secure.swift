internal import CLinux
internal import Glibc

/// Connections that speak TLS.
extension EventLoop {
  /// Notes what an event means for a session and does what waited for it; false when the connection is gone.
  mutating func wakeSecure(_ index: Int, events: UInt32) -> Bool {
    if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 {
      table[index].tls.noteInput(isLast: events & EPOLLRDHUP.rawValue != 0)
      if table[index].tls.writeNeedsInput { continueOutput(index) }
    }
    if events & EPOLLOUT.rawValue != 0 {
      if table[index].tls.owesEnd, endSecure(index) { endSending(index) }
      if table[index].tls.readNeedsOutput { table[index].mayReceive = true }
    }
    return !table[index].machine.isClosed
  }

  /// Answers a connection that was beyond a bound when it came.
  mutating func endHandshake(_ index: Int) {
    if let status = table[index].refusalAfterHandshake.take() { refuse(index, with: status) }
  }

  /// Says that nothing follows; true when the sending half can be closed.
  mutating func endSecure(_ index: Int) -> Bool {
    switch table[index].tls.end() {
    case .done: return true
    // The linger deadline runs meanwhile.
    case .needsInput, .needsOutput: return false
    case .ended, .broken:
      abandon(index)
      return false
    }
  }

  /// Ends a session whose connection is about to be closed, if the socket takes it now, and frees it.
  mutating func closeSecure(_ index: Int) {
    _ = table[index].tls.end()
    table[index].tls = TLSSession()
  }
}
