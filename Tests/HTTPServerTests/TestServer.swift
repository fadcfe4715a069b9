import CoreTypes
import PullboxTesting

@testable import HTTPServer

/// A server on a free port of 127.0.0.1, and connections to it.
struct TestServer {
  let server: HTTPServer
  let port: UInt16

  init(
    inline: (any InlineHandler)? = nil, clock: any MonotonicClock = SystemMonotonicClock(),
    pageCache: any PageCache = SystemPageCache(),
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { _ in HTTPResponse(status: .notFound)
    }
  ) throws {
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    configure(&configuration)
    server = HTTPServer(
      configuration: configuration, inline: inline, handler: ClosureHandler(body: respond), clock: clock,
      wallClock: SystemWallClock(), pageCache: pageCache)
    try server.start()
    guard case .tcp(_, let port) = server.boundAddresses[0] else {
      preconditionFailure("the first address is not TCP")
    }
    self.port = port
  }

  func connect(
    receiveBuffer: Int32? = nil, beforeConnecting: (Int32) -> Void = { _ in }
  ) throws -> RawConnection {
    try RawConnection.tcp(port: port, receiveBuffer: receiveBuffer, beforeConnecting: beforeConnecting)
  }
}

struct ClosureHandler: AsyncHandler {
  let body: @Sendable (HTTPRequest) async -> HTTPResponse

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    await body(request)
  }
}

/// Runs `body` with a server and drains it afterwards, whatever happens.
func withServer(
  inline: (any InlineHandler)? = nil, clock: any MonotonicClock = SystemMonotonicClock(),
  pageCache: any PageCache = SystemPageCache(),
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { _ in HTTPResponse(status: .notFound) },
  _ body: (TestServer) async throws -> Void
) async throws {
  let server = try TestServer(
    inline: inline, clock: clock, pageCache: pageCache, configure: configure, respond: respond)
  do {
    try await body(server)
  } catch {
    await server.server.drain()
    throw error
  }
  await server.server.drain()
}
