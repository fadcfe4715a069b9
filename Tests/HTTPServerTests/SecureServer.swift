import CoreTypes
import PullboxTesting

@testable import HTTPServer

/// A server on a free port of 127.0.0.1 that speaks TLS, beside one for plain HTTP.
struct SecureServer {
  let server: HTTPServer
  let port: UInt16
  let plainPort: UInt16

  init(
    _ certificate: TestCertificate, inline: (any InlineHandler)? = nil,
    clock: any MonotonicClock = SystemMonotonicClock(), pageCache: any PageCache = SystemPageCache(),
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { _ in HTTPResponse(status: .notFound)
    }
  ) throws {
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.tls = TLSConfiguration(
      addresses: [.tcp(host: "127.0.0.1", port: 0)], certificateFile: certificate.certificateFile,
      keyFile: certificate.keyFile)
    configuration.loops = 1
    configure(&configuration)
    server = HTTPServer(
      configuration: configuration, inline: inline, handler: ClosureHandler(body: respond), clock: clock,
      wallClock: SystemWallClock(), pageCache: pageCache)
    try server.start()
    guard case .tcp(_, let port) = server.boundSecureAddresses[0],
      case .tcp(_, let plainPort) = server.boundAddresses[0]
    else { preconditionFailure("the first addresses are not TCP") }
    self.port = port
    self.plainPort = plainPort
  }

  /// A connection with its handshake done.
  func connect(
    receiveBuffer: Int32? = nil, _ options: SecureConnection.Options = .init()
  ) async throws -> SecureConnection {
    let connection = try SecureConnection(
      over: .tcp(port: port, receiveBuffer: receiveBuffer), options: options)
    try await connection.handshake()
    return connection
  }
}

/// Runs `body` with a server and drains it afterwards, whatever happens.
func withSecureServer(
  inline: (any InlineHandler)? = nil, clock: any MonotonicClock = SystemMonotonicClock(),
  pageCache: any PageCache = SystemPageCache(),
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { _ in HTTPResponse(status: .notFound) },
  _ body: (SecureServer) async throws -> Void
) async throws {
  let directory = try TemporaryDirectory()
  let certificate = try await TestCertificate(named: "first", in: directory)
  let server = try SecureServer(
    certificate, inline: inline, clock: clock, pageCache: pageCache, configure: configure, respond: respond)
  do {
    try await body(server)
  } catch {
    await server.server.drain()
    throw error
  }
  await server.server.drain()
}
