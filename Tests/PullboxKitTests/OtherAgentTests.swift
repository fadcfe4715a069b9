import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Testing

@testable import PullboxKit

/// docs/agent.md, "Members": what an agent of an earlier version does not tell is absent, and what one of a later version tells besides is
/// passed over.
@Suite("Agents of other versions")
struct OtherAgentTests {
  private static let download = """
    {"bytesReceived":0,"bytesVerified":0,"id":"5b0c2f9a1d3e4f60","product":"com.example.a","progress":0,"reason":"queued",\
    "speed":0,"state":"waiting","timeRemaining":null,"transaction":"2000000000000001"}
    """
  private static let item = """
    {"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","length":0,"path":"/library/a/1",\
    "placedAt":"2026-11-21T08:30:00.000Z","product":"com.example.a","version":"1"}
    """
  private static let transaction = """
    {"downloads":[],"id":"2000000000000001","product":"com.example.a","state":"purchased","step":"planning"}
    """

  /// The answers of an agent by path, of the one that told least; its events are under their own.
  private static let earliest = [
    "/v1/downloads": #"{"downloads":[\#(download)]}"#,
    "/v1/library": #"{"items":[\#(item)]}"#,
    "/v1/transactions": #"{"transactions":[\#(transaction)]}"#,
    "/v1/events": "event: download\ndata: \(download)\n\nevent: transaction\ndata: \(transaction)\n\n",
  ]

  /// The same with members of tomorrow, of every kind, in each object.
  private static let later = earliest.mapValues {
    $0.replacing("{", with: #"{"aFlag":true,"aList":[{"a":[1.5,null]}],"anObject":{"b":"}"},"#)
  }

  private struct Answers: AsyncHandler {
    let texts: [String: String]

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      guard let text = texts[request.path] else { return HTTPResponse(status: .notFound) }
      let type = request.path == "/v1/events" ? "text/event-stream" : "application/json"
      return HTTPResponse(status: .ok, headers: ["Content-Type": type], body: .bytes(Array(text.utf8)))
    }
  }

  /// The lists that an application reads of an agent, and its events as they are written.
  private struct Findings: Equatable {
    var downloads: [DownloadStatus]
    var library: [LibraryItem]
    var transactions: [AgentTransaction]
    var events: [[UInt8]] = []
  }

  private func read(_ texts: [String: String]) async throws -> Findings {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    return try await withServer(Answers(texts: texts), at: .unix(path: path)) { _ in
      let agent = try AgentClient(socketPath: path)
      var found = Findings(
        downloads: try await agent.downloads(), library: try await agent.library(),
        transactions: try await agent.transactions())
      for try await event in try await agent.events() { found.events.append(try event.encodedData()) }
      return found
    }
  }

  @Test("what the first agent did not tell is absent, and what a later one tells besides is passed over")
  func bothWays() async throws {
    let found = try await read(Self.earliest)
    let download = try #require(found.downloads.first)
    #expect(download.title == nil && download.urgency == nil && download.created == nil)
    #expect(download.condition == nil && download.space == nil && download.section == nil)
    #expect(download.contentPath == nil && download.stalledSince == nil && download.timeRemaining == nil)
    let item = try #require(found.library.first)
    #expect(item.owned == nil && item.pinned == nil && item.lastOpened == nil && item.withdrawn == nil)
    let transaction = try #require(found.transactions.first)
    #expect(transaction.revoked == nil && transaction.session == nil && transaction.reason == nil)
    #expect(found.events.count == 2)
    #expect(try await read(Self.later) == found)
  }

  /// Documents of an agent of tomorrow, which has one more word in each list, and what stands in its place.
  private static let newWords: [(document: String, read: String)] = [
    ("\"state\":\"dreaming\"", "\"state\":\"waiting\""),
    ("\"urgency\":\"someday\"", ""),
    ("\"condition\":{\"name\":\"thunderstorm\",\"source\":\"s\",\"since\":\"2026-11-21T08:30:00.000Z\"}", ""),
    (
      "\"ignored\":[{\"name\":\"thunderstorm\"},{\"name\":\"metered\"}]",
      "\"ignored\":[{\"name\":\"metered\"}]"
    ),
  ]

  @Test("a word of tomorrow makes no download unreadable", arguments: newWords)
  func downloadWords(document: String, read expected: String) throws {
    func status(_ member: String) throws -> DownloadStatus {
      let others = Self.download.replacing("\"state\":\"waiting\",", with: "")
      let state = member.hasPrefix("\"state\"") ? "" : "\"state\":\"waiting\","
      let text = others.replacing(
        "{", with: "{\(state)\(member)\(member.isEmpty ? "" : ",")", maxReplacements: 1)
      return try APIJSON.decode(answer: DownloadStatus.self, from: Array(text.utf8))
    }
    #expect(try status(document) == (try status(expected)))
    #expect(throws: DecodingError.self) {
      try APIJSON.decode(
        DownloadStatus.self, from: Array(Self.download.replacing("waiting", with: "dreaming").utf8))
    }
  }

  /// Read by the calls that an application makes.
  private static let tomorrow = [
    "/v1/downloads": #"{"downloads":[\#(download.replacing("waiting", with: "dreaming"))]}"#,
    "/v1/library": #"{"items":[\#(item.replacing("{", with: #"{"state":"rebound","#))]}"#,
    "/v1/transactions": earliest["/v1/transactions"] ?? "",
    "/v1/events":
      "event: library\ndata: {\"change\":\"rebound\",\"item\":\(item)}\n\nevent: dream\ndata: {}\n\n"
      + "event: download\ndata: \(download.replacing("waiting", with: "dreaming"))\n\n",
    "/v1/library/com.example.a/ownership":
      #"{"owned":true,"product":"com.example.a","reason":"solar-flare","verification":"half","content":"buried"}"#,
    "/v1/conditions": #"""
    {"conditions":[{"holds":0,"name":"thunderstorm","rule":"wait","state":"yes"},
      {"holds":0,"name":"metered","rule":"ponder","state":"perhaps"}],
     "sources":[{"name":"s","state":"whispers"}]}
    """#,
    "/v1/library/com.example.a/sections": #"""
    {"product":"com.example.a","version":"1","sections":[{"tag":"hires","policy":"at-night","files":1,"length":1,"here":false}]}
    """#,
    "/v1/products": #"""
    {"account":{"territory":"USA","environment":"Sandbox","canMakePayments":true},"invalidProductIdentifiers":[],
     "products":[{"listing":{"id":"com.example.b","type":"hologram","title":"","description":""},"owned":false},
       {"listing":{"id":"com.example.c","type":"consumable","title":"","description":""},"owned":false}]}
    """#,
  ]

  @Test("no word of tomorrow ends a stream, and what cannot be told without one is left out of its list")
  func words() async throws {
    let found = try await read(Self.tomorrow)
    #expect(found.downloads.map(\.state) == [.waiting])
    #expect(found.library.map(\.state) == [.offline])
    let events = found.events.map { String(decoding: $0, as: UTF8.self) }
    #expect(events.count == 2 && events[0].contains(#""change":"changed""#), "\(events)")
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let product = try #require(ProductIdentifier("com.example.a"))
    try await withServer(Answers(texts: Self.tomorrow), at: .unix(path: path)) { _ in
      let agent = try AgentClient(socketPath: path)
      let ownership = try await agent.ownership(of: product)
      #expect(ownership.owned && ownership.content == nil)
      #expect(VerificationResult(ownership) == .unverified(ownership, .noLicense))
      let conditions = try await agent.conditions()
      #expect(conditions.conditions.map(\.name) == [.metered])
      #expect(
        conditions.conditions.map(\.state) == [.unknown] && conditions.conditions.map(\.rule) == [.wait])
      #expect(conditions.sources.map(\.state) == [.absent])
      #expect(try await agent.sections(of: product).sections.map(\.policy) == [.onDemand])
      #expect(try await agent.products([]).products.map(\.listing.id.description) == ["com.example.c"])
    }
  }
}
