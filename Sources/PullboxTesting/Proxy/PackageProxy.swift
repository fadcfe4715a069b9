public import CoreTypes
internal import Synchronization
internal import SystemCalls

/// A TCP proxy on loopback between HTTP clients and a server, that knows which of the passing bytes belong to which place
/// of a package and can hold, change or cut there. Its port stays while the server behind it comes and goes.
public final class PackageProxy: Sendable {
  /// The connections and their destination.
  private struct State {
    /// The port of the server; nil while there is none.
    var upstream: UInt16?
    /// The connections that are open, by their numbers.
    var connections: [UInt64: ProxyConnection] = [:]
    /// The number of the last connection.
    var nextIdentifier: UInt64 = 0
    /// Whether ``close()`` was called.
    var isClosed = false
    /// Whether connections are accepted and closed at once.
    var isAway = false
  }

  /// Kept small so that little is under way when something is killed.
  private static let buffer: Int32 = 65_536

  /// Where it listens, on 127.0.0.1.
  public let port: UInt16
  /// The socket that clients connect to.
  private let listener: LoopbackSocket
  /// The thread that accepts.
  private let acceptor = BlockingThread(name: "proxy accept")
  /// The changes to passing bytes, shared by all connections.
  private let rules = ProxyRules()
  /// The rate of passing bytes, shared by all connections.
  private let pace = ProxyPace()
  /// Guards the connections, which end on threads of their own.
  private let state = Mutex(State())

  /// Listens on a free port, and forwards everything.
  public init() throws {
    listener = try LoopbackSocket.listening()
    port = try listener.port()
    // Unstructured: accepts until ``close()``.
    Task { await acceptor.run { self.accept() } }
  }

  /// Its address for clients.
  public var url: String { "http://127.0.0.1:\(port)" }

  /// Where connections go from now on; without one they are closed at once.
  public func setUpstream(port: UInt16?) { state.withLock { $0.upstream = port } }

  /// Changes the byte at that offset of a package, the next time it passes.
  public func flip(at offset: Int64) { rules.flip(at: offset) }

  /// Ends the connection before the byte at that offset of a package, the next time it would pass.
  public func cut(at offset: Int64) { rules.cut(at: offset) }

  /// Lets nothing of a package pass from that offset on, until ``release()``.
  public func hold(at offset: Int64) { rules.hold(at: offset) }

  /// Forwards the bytes that are held.
  public func release() { rules.release() }

  /// Returns once a connection waits at the hold: everything before it was forwarded.
  public func waitUntilHeld() async { await rules.waitUntilHeld() }

  /// Bytes a second that go to clients, over all connections; nil for as many as can be.
  public func setRate(_ rate: ByteCount?) { pace.setRate(rate) }

  /// Whether the server behind it can be reached: connections are cut, and new ones closed at once, while it cannot.
  public func setReachable(_ isReachable: Bool) {
    state.withLock { $0.isAway = !isReachable }
    if !isReachable { cutConnections() }
  }

  /// Package bytes that went to clients, in order; adjacent ones joined.
  public var forwarded: [Range<Int64>] { rules.forwarded }

  /// Closes every open connection; new ones are accepted.
  public func cutConnections() {
    for connection in state.withLock({ Array($0.connections.values) }) { connection.cut() }
  }

  /// Closes the proxy and its connections. Called once, by its owner.
  public func close() {
    state.withLock { $0.isClosed = true }
    listener.shutDown()
    cutConnections()
    pace.setRate(nil)
    release()
  }

  /// Accepts clients until the listener is shut down, and connects each to the server. A client is closed at once while
  /// there is no server. Blocks.
  private func accept() {
    while let client = try? listener.accept() {  // Throws when closed.
      guard let upstream = state.withLock({ $0.isClosed || $0.isAway ? nil : $0.upstream }) else { continue }
      // The server is down: the client finds its connection closed.
      guard let server = try? LoopbackSocket.connected(to: upstream, receiveBuffer: Self.buffer) else {
        continue
      }
      let connection = ProxyConnection(client: client, server: server, rules: rules, pace: pace)
      let identifier = state.withLock { state in
        state.nextIdentifier += 1
        state.connections[state.nextIdentifier] = connection
        return state.nextIdentifier
      }
      // Unstructured: lives as long as the two sides.
      Task {
        await connection.run()
        state.withLock { _ = $0.connections.removeValue(forKey: identifier) }
      }
    }
  }
}
