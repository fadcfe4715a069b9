import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("Covers and samples without a ticket")
struct PreviewTests {
  private static let issue = "com.example.issue1"
  private static let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let cover = start + (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 5) }
  private static let page = start + (0..<7000).map { UInt8(truncatingIfNeeded: $0 &* 11 / 3) }
  private static let secret = start + (0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 13 / 7) }

  /// A folder of three pictures, of which the first is the cover, and some text that shrinks.
  private static func submit(
    to server: ServerHarness, samples: [String], others: [(String, [UInt8])] = [],
    cover: String = "images/page-1.png", namedCover: String? = nil
  ) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(issue)", body: ProductDescription(samples: samples),
      as: OperatorProduct.self)
    let directory = try TemporaryDirectory()
    let folder = directory.path("issue")
    try FileSystem.createDirectories("\(folder)/images")
    for (name, bytes) in [("page-1.png", Self.cover), ("page-2.png", page), ("page-3.png", secret)] + others {
      try DurableFile.write(bytes.span, to: "\(folder)/images/\(name)")
    }
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(issue)), version: try #require(ContentVersion("1.0")))
    let packed = try builder.pack(folder: folder, to: directory.path("issue.zip"))
    #expect(packed.manifest.cover?.text == cover)
    let bytes = try FileSystem.read(directory.path("issue.zip"), upTo: .mebibytes(1))
    let manifest = String(decoding: packed.manifest.canonicalBytes(), as: UTF8.self).replacing(
      "\"cover\":\"\(cover)\"", with: "\"cover\":\"\(namedCover ?? cover)\"")
    let submission = VersionSubmission(
      upload: try await server.upload(bytes, name: "issue.zip"),
      version: try #require(ContentVersion("1.0")), manifest: Base64.encode(Array(manifest.utf8)))
    _ = try await server.operatorAPI.call(
      "POST", "/v1/operator/products/\(issue)/versions", body: submission, as: VersionRecord.self)
  }

  private static func release(_ server: ServerHarness) async throws {
    for step in ["submit", "approve", "release"] { try await server.step(step, "1.0", ReasonBody()) }
  }

  private static func get(
    _ path: String, _ server: ServerHarness, headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(method: "GET", url: server.api.url(path), headers: headers))
  }

  @Test("a cover is answered in the narrowest picture of it that is as wide as was wished, else as it is")
  func widths() async throws {
    try await ServerHarness.run { server in
      let (narrow, wide) = ([UInt8](Self.page.prefix(500)), [UInt8](Self.page.prefix(900)))
      try await Self.submit(
        to: server, samples: [],
        others: [
          ("page-1@240w.png", narrow), ("page-1@480w.png", wide), ("page-1@x.png", Self.secret),
          ("page-1@0w.png", Self.secret), ("page-2@240w.png", Self.secret),
        ])
      try await Self.release(server)
      let path = "/v1/products/\(Self.issue)/cover?version=1.0"
      for (width, expected) in [
        (1, narrow), (240, narrow), (241, wide), (480, wide), (481, Self.cover), (10_000, Self.cover),
      ] {
        let answer = try await Self.get("\(path)&width=\(width)", server)
        #expect(answer.body == expected, "\(width)")
        #expect(answer.headers["ETag"] == "\"\(SHA256Digest.of(expected))\"")
        #expect(answer.headers["Cache-Control"] == "public, max-age=31536000, immutable")
      }
      #expect(try await Self.get(path, server).body == Self.cover)
      #expect(try await Self.get("/v1/products/\(Self.issue)/cover?width=240", server).body == narrow)
      #expect(try await Self.get(path + "&width=10001", server).status == 400)
    }
  }

  @Test("the cover and the named samples are public once the version is released, and not one byte more")
  func onlyPreviews() async throws {
    try await ServerHarness.run { server in
      try await Self.submit(to: server, samples: ["images/page-2.png"])
      let path = "/v1/products/\(Self.issue)"
      #expect(try await Self.get(path + "/cover", server).status == 404)
      try await Self.release(server)
      let cover = try await Self.get(path + "/cover?width=300", server)
      #expect(cover.status == 200 && cover.body == Self.cover)
      #expect(cover.headers["Content-Type"] == "image/png")
      #expect(cover.headers["ETag"] == "\"\(SHA256Digest.of(Self.cover))\"")
      #expect(cover.headers["Cache-Control"] == "public, max-age=60")
      #expect(cover.headers["X-Content-Type-Options"] == "nosniff")
      let fixed = try await Self.get(path + "/cover?version=1.0", server)
      #expect(fixed.headers["Cache-Control"] == "public, max-age=31536000, immutable")
      let known = try await Self.get(
        path + "/cover", server, headers: [("If-None-Match", try #require(cover.headers["ETag"]))])
      #expect(known.status == 304 && known.body.isEmpty)
      let sample = try await Self.get(path + "/samples/1", server)
      #expect(sample.body == Self.page)

      // Nothing else of the package, and of no other version.
      for rest in [
        "/samples/2", "/samples/0", "/samples/11", "/samples/1?version=2.0",
        "/cover?version=2.0", "/cover/images/page-3.png",
      ] {
        let answer = try await Self.get(path + rest, server)
        #expect(answer.status == 404, "\(rest)")
      }
      for path in [
        "/cover?width=0", "/cover?path=images/page-3.png", "/samples/1?file=images/page-3.png",
        "/samples/images%2Fpage-3.png",
      ] {
        #expect(try await Self.get("/v1/products/\(Self.issue)" + path, server).status == 400, "\(path)")
      }
      let ranged = try await Self.get(path + "/cover", server, headers: [("Range", "bytes=0-100000")])
      #expect(ranged.body == Self.cover)

      // A product that is taken off sale shows nothing any more.
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: ProductDescription(onSale: false),
        as: OperatorProduct.self)
      #expect(try await Self.get(path + "/cover", server).status == 404)
    }
  }

  @Test("a cover of more than 256 KiB is none, and one of exactly that is one", arguments: [0, 1])
  func longCover(excess: Int) async throws {
    try await ServerHarness.run { server in
      let cover = Self.start + [UInt8](repeating: 7, count: (256 << 10) - Self.start.count + excess)
      try await Self.submit(
        to: server, samples: [], others: [("page-0.png", cover)], cover: "images/page-0.png")
      try await Self.release(server)
      let answer = try await Self.get("/v1/products/\(Self.issue)/cover", server)
      #expect(answer.status == (excess == 0 ? 200 : 404))
    }
  }

  @Test("where a manifest names a cover whose bytes are no picture, the first page that is one is shown")
  func coverThatIsNone() async throws {
    try await ServerHarness.run { server in
      try await Self.submit(
        to: server, samples: [], others: [("fork.png", [0, 5, 0x16, 7])], namedCover: "images/fork.png")
      try await Self.release(server)
      let answer = try await Self.get("/v1/products/\(Self.issue)/cover", server)
      #expect(answer.status == 200 && answer.body == Self.cover)
    }
  }

  @Test("a cover is of the type that its bytes are, whatever it is called")
  func coverOfAnotherType() async throws {
    try await ServerHarness.run { server in
      let cover: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 1, count: 50)
      try await Self.submit(
        to: server, samples: [], others: [("page-0.png", cover)], cover: "images/page-0.png")
      try await Self.release(server)
      let answer = try await Self.get("/v1/products/\(Self.issue)/cover", server)
      #expect(answer.body == cover && answer.headers["Content-Type"] == "image/jpeg")
    }
  }

  @Test("a sample that the package does not have is refused with its path, and so are eleven")
  func refusedSamples() async throws {
    try await ServerHarness.run { server in
      do {
        try await Self.submit(to: server, samples: ["images/page-9.png"])
        Issue.record("it was taken")
      } catch {
        guard case .problem(let problem) = error as? APICallError else { throw error }
        #expect(problem.code == .packageRejected)
        #expect(problem.faults?.map(\.code) == ["sample-invalid"])
        #expect(problem.faults?.map(\.path) == ["images/page-9.png"])
      }
      for samples in [(0...10).map { "p\($0).png" }, ["../x.png"], ["a.png", "a.png"]] {
        do {
          _ = try await server.operatorAPI.call(
            "PUT", "/v1/operator/products/\(Self.issue)", body: ProductDescription(samples: samples),
            as: OperatorProduct.self)
          Issue.record("\(samples) was taken")
        } catch {
          guard case .problem(let problem) = error as? APICallError else { throw error }
          #expect(problem.code == .productInvalid)
        }
      }
    }
  }
}
