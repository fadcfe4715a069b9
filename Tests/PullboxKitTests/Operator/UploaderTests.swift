import CoreTypes
import Crypto
import Files
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import PullboxOperatorKit

@Suite("Uploads go on where they stood")
struct UploaderTests {
  private let directory: TemporaryDirectory
  private let content: [UInt8]
  private let source: UploadSource
  private let clock = ImmediateClock()

  init() throws {
    directory = try TemporaryDirectory()
    let content = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let path = directory.path("package")
    try DurableFile.write(content.span, to: path)
    self.content = content
    source = UploadSource(path: path, length: ByteCount(content.count), digest: .of(content), name: "a é.zip")
  }

  private func uploader(_ address: ServerAddress, ledger: UploadResumeFile? = nil) throws -> Uploader {
    var uploader = try OperatorClient(server: "http://\(address)", key: "k").uploader(resumeFile: ledger)
    uploader.clock = clock
    return uploader
  }

  @Test("a package is created and sent in one request, and progress ends at its length")
  func whole() async throws {
    let shop = TusShop()
    let seen = Mutex<[ByteCount]>([])
    try await withServer(shop) { address in
      let id = try await uploader(address).upload(source) { progress in
        seen.withLock { $0.append(progress.sent) }
      }
      #expect(shop.content(of: id) == content)
    }
    #expect(shop.requests == ["POST", "PATCH 0"])
    #expect(shop.checksums == ["sha256 " + Base64.encode(SHA256Digest.of(content).array)])
    #expect(seen.withLock { $0 }.last == source.length)
    #expect(seen.withLock { $0 } == seen.withLock { $0.sorted() })
  }

  @Test("parts are sent one after the other where a request's length is bounded")
  func parts() async throws {
    let shop = TusShop()
    try await withServer(shop) { address in
      var uploader = try uploader(address)
      uploader.partLength = ByteCount(150_000)
      let id = try await uploader.upload(source)
      #expect(shop.content(of: id) == content)
    }
    #expect(shop.requests == ["POST", "PATCH 0", "PATCH 150000", "PATCH 300000"])
    #expect(shop.checksums.isEmpty)
  }

  @Test(
    "where a connection breaks, the server is asked, and no byte that it has is kept twice",
    arguments: [[0], [1], [65_536], [399_999], [1, 2, 200_000], [400_000]])
  func cut(offsets: [Int]) async throws {
    let shop = TusShop()
    shop.cut(at: offsets)
    try await withServer(shop) { address in
      let id = try await uploader(address).upload(source)
      #expect(shop.content(of: id) == content)
    }
    #expect(shop.bytesTaken == content.count)
    #expect(shop.requests.count { $0 == "POST" } == 1)
    #expect(shop.requests.count { $0 == "HEAD" } == offsets.count)
  }

  @Test("an offset that differs, a locked upload and damaged bytes are asked about and sent again")
  func refusals() async throws {
    let shop = TusShop()
    shop.refuse(with: [
      Problem(.uploadOffsetMismatch), Problem(.uploadLocked, retryAfterSeconds: 3),
      Problem(.checksumMismatch),
      Problem(.unavailable),
    ])
    try await withServer(shop) { address in
      let id = try await uploader(address).upload(source)
      #expect(shop.content(of: id) == content)
    }
    #expect(clock.delays.count == 4)
    #expect(clock.delays.contains(.seconds(3)))
  }

  @Test("another client, or the same one after it was killed, goes on with what the first one sent")
  func anotherClient() async throws {
    let shop = TusShop()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    shop.cut(at: [123_456])
    try await withServer(shop) { address in
      var first = try uploader(address, ledger: ledger)
      first.maximumFailures = 0
      await #expect(throws: APICallError.self) { try await first.upload(source) }
      let resumedAt = Mutex(ByteCount.zero)
      let second = try uploader(address, ledger: UploadResumeFile(path: ledger.path))
      let id = try await second.upload(source) { progress in resumedAt.withLock { $0 = progress.resumedAt } }
      #expect(shop.content(of: id) == content)
      #expect(resumedAt.withLock { $0 } == ByteCount(123_456))
      await second.forget(source)
    }
    #expect(shop.requests == ["POST", "PATCH 0", "HEAD", "PATCH 123456"])
    #expect(try ledger.entries().isEmpty)
  }

  @Test("a server that was restarted is found again")
  func restart() async throws {
    let shop = TusShop()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    shop.cut(at: [200_000])
    let address = try await withServer(shop) { address in
      var uploader = try uploader(address, ledger: ledger)
      uploader.maximumFailures = 0
      await #expect(throws: APICallError.self) { try await uploader.upload(source) }
      return address
    }
    var gone = try uploader(address, ledger: ledger)
    gone.maximumFailures = 2
    await #expect(throws: APICallError.self) { try await gone.upload(source) }
    try await withServer(shop, at: address) { address in
      let id = try await uploader(address, ledger: ledger).upload(source)
      #expect(shop.content(of: id) == content)
    }
    #expect(shop.requests == ["POST", "PATCH 0", "HEAD", "PATCH 200000"])
  }

  @Test("an upload that the server has forgotten begins anew")
  func forgotten() async throws {
    let shop = TusShop()
    let ledger = UploadResumeFile(path: directory.path("uploads.json"))
    shop.cut(at: [1000])
    try await withServer(shop) { address in
      var first = try uploader(address, ledger: ledger)
      first.maximumFailures = 0
      await #expect(throws: APICallError.self) { try await first.upload(source) }
      shop.forgetUploads()
      let id = try await uploader(address, ledger: ledger).upload(source)
      #expect(id == "u2")
    }
    #expect(shop.requests == ["POST", "PATCH 0", "HEAD", "POST", "PATCH 0"])
  }

  @Test(
    "a refusal that repeating does not change is thrown as it is, at once",
    arguments: [ProblemCode.outOfSpace, .forbidden, .uploadTooLarge])
  func refused(code: ProblemCode) async throws {
    let shop = TusShop()
    shop.refuse(with: [Problem(code)])
    try await withServer(shop) { address in
      await #expect {
        try await uploader(address).upload(source)
      } throws: { error in
        guard case .problem(let problem) = error as? APICallError else { return false }
        return problem.code == code
      }
    }
    #expect(clock.delays.isEmpty)
  }
}
