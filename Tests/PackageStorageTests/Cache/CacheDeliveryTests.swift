import CoreTypes
import Crypto
import HTTPParsing
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

@testable import PackageStorage

/// Packages of a cache on their way to clients, by the kernel's sendfile.
@Suite("Packages sent from the cache", .timeLimit(.minutes(10)))
struct CacheDeliveryTests {
  /// Stands between the two, as in the delivery server.
  private final class Presence: FilePresence {
    private let package: CachedPackage

    init(_ package: CachedPackage) {
      self.package = package
    }

    func hold(_ range: Range<Int64>) -> Int64 { package.hold(range) }

    func release(_ range: Range<Int64>) { package.release(range) }

    func bring(
      _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
    ) -> @Sendable () -> Void {
      let wait = package.bring(range) { error in
        completion(error.map { FilePresenceError(.unavailable, $0.message) })
      }
      return { wait.cancel() }
    }
  }

  /// Sends `/0`, `/1` and so on, or the range that is asked for.
  private struct Packages: AsyncHandler {
    let files: [SharedDescriptor]

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      guard let number = Int(request.path.dropFirst()), files.indices.contains(number) else {
        return HTTPResponse(status: .notFound)
      }
      let file = files[number]
      if case .single(let range) = RangeSet.requested(request, length: file.length.rawValue) {
        return HTTPResponse(status: .partialContent, body: .file(file, range))
      }
      return HTTPResponse(status: .ok, body: .file(file, 0..<file.length.rawValue))
    }
  }

  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func serve(
    _ samples: [SamplePackage], from cache: PackageCache,
    _ body: (_ connect: (Int32?) throws -> RawConnection) async throws -> Void
  ) async throws {
    var files: [SharedDescriptor] = []
    for sample in samples {
      let package = try await cache.open(sample.digest, as: sample.description)
      files.append(try SharedDescriptor(try package.makeDescriptor(), presence: Presence(package)))
    }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 2
    let server = HTTPServer(configuration: configuration, handler: Packages(files: files))
    try server.start()
    guard case .tcp(_, let port) = server.boundAddresses[0] else {
      preconditionFailure("the first address is not TCP")
    }
    do {
      try await body { try RawConnection.tcp(port: port, receiveBuffer: $0) }
    } catch {
      await server.drain()
      throw error
    }
    await server.drain()
  }

  private func digest(_ bytes: some Collection<UInt8>) -> SHA256Digest { .of(bytes) }

  @Test("a cold package is sent as it comes, right, and read from where it lies once")
  func cold() async throws {
    let sample = SamplePackage(length: (21 << 20) + 77)
    let fetcher = ScriptedFetcher([sample])
    try await withCache(fetcher, in: directory.path) { cache in
      try await serve([sample], from: cache) { connect in
        for _ in 0..<2 {
          let connection = try connect(nil)
          try await connection.send("GET /0 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
          let response = try await connection.receiveResponse()
          #expect(response.status == 200)
          #expect(digest(response.body) == sample.digest)
        }
      }
      #expect(fetcher.calls.reduce(0) { $0 + $1.range.count } == sample.bytes.count)
    }
  }

  @Test("clients of more than there is room for, some of them slow, get right bytes")
  func crowded() async throws {
    let samples = (0..<3).map { SamplePackage(length: (17 << 20) + $0, number: $0) }
    let fetcher = ScriptedFetcher(samples)
    try await withCache(fetcher, in: directory.path, size: .mebibytes(50)) { cache in
      try await serve(samples, from: cache) { connect in
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for number in 0..<12 {
            let connection = try connect(number % 3 == 0 ? 16_384 : nil)
            group.addTask {
              let sample = samples[number % 3]
              let start = (number * 1_300_007) % (9 << 20)
              let end = min(sample.bytes.count, start + (6 << 20))
              try await connection.send(
                "GET /\(number % 3) HTTP/1.1\r\nHost: h\r\nRange: bytes=\(start)-\(end - 1)\r\n"
                  + "Connection: close\r\n\r\n")
              let response = try await connection.receiveResponse()
              return response.status == 206
                && SHA256Digest.of(response.body) == .of(sample.bytes[start..<end])
            }
          }
          for try await isRight in group { #expect(isRight) }
        }
      }
      #expect(cache.figures.allocated <= .mebibytes(50))
    }
  }

  @Test("a package that cannot be fetched to its end ends the connection short, after bytes that are right")
  func short() async throws {
    let sample = SamplePackage(mebibytes: 12)
    let error = PackageFetchError(.unavailable, "away", retryAfter: .seconds(60))
    let fetcher = ScriptedFetcher(
      [sample],
      answer: { _, call in
        call.range.upperBound <= 9 << 20
          ? .right : .failure(error, after: max(0, (9 << 20) - Int(call.range.lowerBound)))
      })
    try await withCache(fetcher, in: directory.path) { cache in
      try await serve([sample], from: cache) { connect in
        let connection = try connect(nil)
        try await connection.send("GET /0 HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try await connection.receive(through: "\r\n\r\n")
        let received = try await connection.receive(exactly: 9 << 20)
        #expect(digest(received) == digest(sample.bytes[..<(9 << 20)]))
        await #expect(throws: (any Error).self) { try await connection.receive(exactly: 1) }
      }
    }
  }
}
