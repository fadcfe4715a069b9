import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Testing

@testable import PullboxDoctor

/// With a server that takes uploads and has of broken ones what the test says.
@Suite("The doctor's uploads", .timeLimit(.minutes(2)))
struct UploadProberTests {
  /// Does not rest, and remembers how long it was to.
  private final class Restless: MonotonicClock {
    let rests = Locked<[Duration]>([])

    func now() -> MonotonicInstant { SystemMonotonicClock().now() }

    func sleep(for duration: Duration) async throws {
      rests.withLock { $0.append(duration) }
    }
  }

  /// The doctor's view of a server that keeps `kept` of one broken body after the other, and what became of its uploads.
  private func observe(
    keeping kept: [Int64], timer: Restless
  ) async throws -> (seen: UploadObservation, created: Int, removed: Int) {
    let (created, removed) = (Locked(0), Locked(0))
    var routes = APIRoutes()
    routes.on(.post, "/v1/operator/uploads") { _, _ in
      let number = created.withLock { count in
        count += 1
        return count
      }
      guard number <= kept.count + 1 else { throw Problem(.unavailable) }
      return HTTPResponse(status: .created, headers: ["Location": "/v1/operator/uploads/\(number)"])
    }
    routes.on(.patch, "/v1/operator/uploads/{id}") { request, _ in
      for try await _ in request.body {}
      return HTTPResponse(status: .noContent)
    }
    routes.on(.head, "/v1/operator/uploads/{id}") { _, parameters in
      // The first upload was the one whose body passes.
      let place = (Int(parameters["id"]) ?? 0) - 2
      return HTTPResponse(status: .ok, headers: ["Upload-Offset": "\(kept[place])"])
    }
    routes.on(.delete, "/v1/operator/uploads/{id}") { _, _ in
      removed.withLock { $0 += 1 }
      return HTTPResponse(status: .noContent)
    }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    configuration.drainDeadline = .milliseconds(100)
    let server = HTTPServer(configuration: configuration, handler: routes.router { _, _ in })
    try server.start()
    let prober = UploadProber(
      url: "http://\(try #require(server.boundAddresses.first))", key: "key", client: try HTTPClient(),
      trust: nil, unixSocketPath: nil, timer: timer)
    let seen = await prober.observe()
    await server.drain()
    return (seen, created.current, removed.current)
  }

  @Test(
    "a body of which nothing was read before the question ended it is followed by another, with more time")
  func ended() async throws {
    let timer = Restless()
    let (seen, created, removed) = try await observe(keeping: [0, 65536], timer: timer)
    #expect(seen.keptOfBroken == 65536)
    #expect(timer.rests.current == [.milliseconds(200), .seconds(1)])
    #expect((created, removed) == (3, 3))
  }

  @Test("nothing is said of a server that takes no further upload before the longest pause is over")
  func refused() async throws {
    let timer = Restless()
    let (seen, created, removed) = try await observe(keeping: [0], timer: timer)
    #expect(seen.body?.status == 204 && seen.keptOfBroken == nil)
    #expect((created, removed) == (3, 2))
  }

  @Test("a server that has nothing of any of three has nothing of a body that breaks")
  func nothing() async throws {
    let timer = Restless()
    let (seen, created, removed) = try await observe(keeping: [0, 0, 0], timer: timer)
    #expect(seen.keptOfBroken == 0)
    #expect(timer.rests.current == [.milliseconds(200), .seconds(1), .seconds(5)])
    #expect((created, removed) == (4, 4))
  }
}
