import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Synchronization
import Testing

@testable import PullboxKit

/// Reading files through an agent that has not all of them yet.
@Suite struct ContentFilesTests {
  /// Answers with what a test has lined up, and notes what is asked.
  private final class Agent: AsyncHandler {
    private let answers: Mutex<[HTTPResponse]>
    private let asked = Mutex<[String]>([])

    init(_ answers: [HTTPResponse]) {
      self.answers = Mutex(answers)
    }

    var requests: [String] { asked.withLock { $0 } }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      asked.withLock { $0.append("\(request.rawTarget) \(request.headers["Range"] ?? "-")") }
      return answers.withLock { $0.isEmpty ? HTTPResponse(status: .notFound) : $0.removeFirst() }
    }
  }

  private static let notYet = HTTPResponse(
    status: .accepted, headers: ["Content-Type": "application/problem+json"],
    body: .bytes(
      Array(#"{"type":"urn:pullbox:problem:not-here-yet","title":"","status":202,"after":1}"#.utf8)))

  private static func part(_ bytes: [UInt8], at offset: Int, of length: Int) -> HTTPResponse {
    HTTPResponse(
      status: .partialContent,
      headers: ["Content-Range": "bytes \(offset)-\(offset + bytes.count - 1)/\(length)"], body: .bytes(bytes)
    )
  }

  private func with<Value>(
    _ answers: [HTTPResponse], _ body: (AgentClient) async throws -> Value
  ) async throws -> (value: Value, requests: [String]) {
    let agent = Agent(answers)
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let value = try await withServer(agent, at: .unix(path: path)) { _ in
      try await body(try AgentClient(socketPath: path))
    }
    return (value, agent.requests)
  }

  private let file = ContentFile(
    path: "pages/é 1.png", length: ByteCount(8), digest: SHA256Digest.of([1]), page: 1,
    verified: [.init(offset: .zero, length: ByteCount(3))])

  @Test("bytes that are not here yet are asked for again, and a part goes on behind what came") func parts()
    async throws
  {
    let download = try #require(DownloadIdentifier("5b0c2f9a1d3e4f60"))
    let (bytes, requests) = try await with([
      Self.notYet, Self.part([0, 1, 2], at: 0, of: 8), Self.notYet, Self.part([3, 4, 5, 6, 7], at: 3, of: 8),
    ]) { agent in
      try await agent.bytes(of: file, in: .download(download))
    }
    #expect(bytes == [0, 1, 2, 3, 4, 5, 6, 7])
    let address = "/v1/downloads/5b0c2f9a1d3e4f60/files/pages/%C3%A9%201.png?wait=25"
    #expect(requests == ["0-7", "0-7", "3-7", "3-7"].map { "\(address) bytes=\($0)" })
  }

  @Test("a sequence of parts ends with the file, and begins where it is asked to") func sequence()
    async throws
  {
    let product = try #require(ProductIdentifier("a"))
    let (found, requests) = try await with([Self.part([5], at: 5, of: 8), Self.part([6, 7], at: 6, of: 8)]) {
      agent in
      var found: [[UInt8]] = []
      let content = ReadableContent.product(product, version: ContentVersion("1.2"))
      for try await part in agent.contents(of: file, in: content, from: 5) { found.append(part) }
      return found
    }
    #expect(found == [[5], [6, 7]])
    #expect(requests.first == "/v1/library/a/files/pages/%C3%A9%201.png?version=1.2&wait=25 bytes=5-7")
  }

  @Test("the reason of a download that brings nothing is thrown, and other bytes than asked for are refused")
  func refused() async throws {
    let gone = HTTPResponse(
      status: HTTPStatus(rawValue: 410), headers: ["Content-Type": "application/problem+json"],
      body: .bytes(Array(#"{"type":"urn:pullbox:problem:download-cancelled","title":"","status":410}"#.utf8)))
    let download = try #require(DownloadIdentifier("5b0c2f9a1d3e4f60"))
    _ = try await with([gone, Self.part([1, 2], at: 4, of: 8)]) { agent in
      let refusal = await #expect(throws: APICallError.self) {
        try await agent.bytes(of: file, in: .download(download))
      }
      guard case .problem(let problem) = refusal else {
        Issue.record("no problem: \(String(describing: refusal))")
        return
      }
      #expect(problem.type == "urn:pullbox:problem:download-cancelled")
      await #expect(throws: APICallError.self) { try await agent.bytes(of: file, in: .download(download)) }
    }
  }

  @Test("a page is found by its number, and its bytes are those of the version that was listed") func page()
    async throws
  {
    let product = try #require(ProductIdentifier("a"))
    let listed = ContentFiles(
      product: product, version: try #require(ContentVersion("1.2")), placed: false, length: ByteCount(8),
      files: [file])
    let list = HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(try APIJSON.encode(listed)))
    let (page, requests) = try await with([list, Self.part([0, 1, 2, 3, 4, 5, 6, 7], at: 0, of: 8)]) {
      agent in
      try await agent.page(1, of: .product(product))
    }
    #expect(page?.bytes == [0, 1, 2, 3, 4, 5, 6, 7] && page?.count == 1 && page?.version == listed.version)
    #expect(
      requests == [
        "/v1/library/a/files?wait=25 -",
        "/v1/library/a/files/pages/%C3%A9%201.png?version=1.2&wait=25 bytes=0-7",
      ])
    #expect(try await with([list]) { try await $0.page(2, of: .product(product)) }.value == nil)
  }

  @Test("a list is waited for, and says which file is which page") func list() async throws {
    let listed = ContentFiles(
      product: try #require(ProductIdentifier("a")), version: try #require(ContentVersion("1")),
      placed: false,
      length: ByteCount(8), files: [file])
    let answer = HTTPResponse(
      status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(try APIJSON.encode(listed)))
    let (files, requests) = try await with([Self.notYet, answer]) { agent in
      try await agent.files(of: .product(listed.product))
    }
    #expect(files == listed && files.page(1) == file && files.page(2) == nil && !file.isWhole)
    #expect(requests == ["/v1/library/a/files?wait=25 -", "/v1/library/a/files?wait=25 -"])
  }
}
