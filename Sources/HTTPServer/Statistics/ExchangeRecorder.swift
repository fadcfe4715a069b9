/// Gets the records of a server's requests: a ring for each loop, which somebody has to drain, on a thread of their own and
/// often enough. A loop never waits for that: what finds its ring full is dropped and counted.
public protocol ExchangeRecorder: Sendable {
  /// Records that the ring of each loop has room for; rounded up to a power of two.
  var ringCapacity: Int { get }

  /// Called once, by ``HTTPServer/start()``, before the first connection. The rings stay valid for as long as they are
  /// held, and keep what was not drained when the server ended.
  func begin(_ rings: [AccessRing])
}
