internal import CoreTypes

/// The configured deadlines in nanoseconds, made once, as each request asks for two of them.
struct DeadlineDurations: Sendable {
  let idle: UInt64
  let head: UInt64
  let body: UInt64
  let send: UInt64
  let linger: UInt64
  let drain: UInt64

  init(_ configuration: HTTPServerConfiguration) {
    idle = configuration.idleDeadline.inNanoseconds
    head = configuration.headDeadline.inNanoseconds
    body = configuration.bodyDeadline.inNanoseconds
    send = configuration.sendDeadline.inNanoseconds
    linger = configuration.lingerDeadline.inNanoseconds
    drain = configuration.drainDeadline.inNanoseconds
  }
}

extension ServerContext {
  /// The configured length of a deadline in nanoseconds; nil for none.
  func duration(of deadline: ConnectionMachine.Deadline) -> UInt64? {
    switch deadline {
    case .none: nil
    case .idle: durations.idle
    case .handshake, .head: durations.head
    case .body: durations.body
    case .send: durations.send
    case .linger: durations.linger
    }
  }
}

extension Duration {
  /// At least one, at most a hundred years.
  fileprivate var inNanoseconds: UInt64 {
    let seconds = min(max(components.seconds, 0), 3_155_760_000)
    return max(1, UInt64(seconds) * 1_000_000_000 + UInt64(max(0, components.attoseconds) / 1_000_000_000))
  }
}
