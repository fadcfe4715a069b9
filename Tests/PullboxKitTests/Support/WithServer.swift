import CoreTypes
import HTTPServer

/// Runs `body` while `handler` answers at an address; the server is gone afterwards, however `body` ends.
@discardableResult
func withServer<Value>(
  _ handler: any AsyncHandler, at address: ServerAddress = .tcp(host: "127.0.0.1", port: 0),
  _ body: (ServerAddress) async throws -> Value
) async throws -> Value {
  var configuration = HTTPServerConfiguration(addresses: [address])
  configuration.loops = 1
  configuration.drainDeadline = .milliseconds(200)
  let server = HTTPServer(configuration: configuration, handler: handler)
  try server.start()
  let bound = server.boundAddresses.first ?? address
  do {
    let value = try await body(bound)
    await server.drain()
    return value
  } catch {
    await server.drain()
    throw error
  }
}
