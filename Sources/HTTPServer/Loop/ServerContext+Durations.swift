internal import Measures

extension ServerContext {
  /// The configured length of a deadline in nanoseconds; nil for none.
  func duration(of deadline: ConnectionMachine.Deadline) -> UInt64? {
    switch deadline {
    case .none: nil
    case .idle: configuration.idleDeadline.inNanoseconds
    case .handshake, .head: configuration.headDeadline.inNanoseconds
    case .body: configuration.bodyDeadline.inNanoseconds
    case .send: configuration.sendDeadline.inNanoseconds
    case .linger: configuration.lingerDeadline.inNanoseconds
    }
  }

  var drainDuration: UInt64 { configuration.drainDeadline.inNanoseconds }
}

extension Duration {
  /// At least one, at most a hundred years.
  fileprivate var inNanoseconds: UInt64 {
    let seconds = min(max(components.seconds, 0), 3_155_760_000)
    return max(1, UInt64(seconds) * 1_000_000_000 + UInt64(max(0, components.attoseconds) / 1_000_000_000))
  }
}
