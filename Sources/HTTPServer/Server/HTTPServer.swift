public import Measures

/// An HTTP/1.1 server on event loops, one thread per core. See ``InlineHandler`` and ``AsyncHandler`` for the two ways to
/// answer. Start it once; drain it once.
public final class HTTPServer: Sendable {
  public init(
    configuration: HTTPServerConfiguration, inline: (any InlineHandler)? = nil, handler: any AsyncHandler,
    clock: any MonotonicClock = SystemMonotonicClock(), wallClock: any WallClock = SystemWallClock()
  ) {
  }

  /// Binds every address and starts the loops. Throws ``HTTPServerError``; then nothing is left open. Ignores `SIGPIPE`
  /// for the whole process from then on (sendfile has no flag against it).
  public func start() throws(HTTPServerError) {
  }

  /// Where it listens: with the real port where 0 was asked for. Empty before ``start()``.
  public var boundAddresses: [ServerAddress] { [] }

  /// Stops accepting, closes idle connections, lets requests in progress finish until the drain deadline, then closes
  /// what is left; returns when every thread and task of the server has ended. Removes the files of its Unix sockets.
  public func drain() async {
  }
}
