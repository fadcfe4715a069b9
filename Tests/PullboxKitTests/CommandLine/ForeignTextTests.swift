import CoreTypes
import Files
import Foundation
import HTTPServer
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// A server and an agent that put what a terminal obeys into every text that they may choose.
private struct ForeignTexts: AsyncHandler {
  static let evil = #"evil\u001b[31m\u009b2J\u202e\nforged\r\u0007"#

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    guard let body = Self.body(request) else {
      return Self.json(
        #"{"type":"urn:pullbox:problem:state-conflict","title":"\#(Self.evil)","status":409,"detail":"\#(Self.evil)"}"#,
        .conflict, "application/problem+json")
    }
    return Self.json(body, .ok, "application/json")
  }

  private static func json(_ text: String, _ status: HTTPStatus, _ type: String) -> HTTPResponse {
    HTTPResponse(status: status, headers: ["Content-Type": type], body: .bytes(Array(text.utf8)))
  }

  private static let digest = String(repeating: "0f", count: 32)
  private static let date = "2026-11-21T05:26:07.100Z"
  private static let problem =
    #"{"type":"urn:pullbox:problem:conflict","title":"\#(evil)","status":409,"detail":"\#(evil)"}"#
  private static let peer =
    #"{"url":"\#(evil)","reachable":false,"lastError":"\#(evil)","lastRequest":"\#(evil)"}"#
  private static let audit =
    #"{"action":"\#(evil)","actor":"\#(evil)","at":"\#(date)","detail":"\#(evil)","subject":"\#(evil)"}"#
  private static let version = """
    {"approvedBy":"\(evil)","created":"\(date)","digest":"\(digest)","files":1,"history":[\(audit)],"length":1,
    "manifestDigest":"\(digest)","pieces":1,"product":"a","reason":"\(evil)","state":"rejected",
    "submittedBy":"\(evil)","version":"1"}
    """
  private static let product = """
    {"product":{"id":"a","localizations":{"en-US":{"title":"\(evil)","description":"\(evil)"}},"prices":{},
    "type":"non-consumable"},"onSale":true,"clearedForSale":true,"created":"\(date)","changed":"\(date)",
    "versions":[\(version)],"versionCount":1}
    """
  private static let download = """
    {"id":"d1","product":"a","transaction":"1","state":"waiting","reason":"\(evil)","bytesVerified":0,
    "bytesReceived":0,"progress":0,"speed":0,"timeRemaining":null,"title":"\(evil)","cause":"\(evil)",
    "error":\(problem)}
    """
  private static let transaction = """
    {"id":"1","product":"a","state":"\(evil)","step":"\(evil)","reason":"\(evil)","downloads":[],
    "cause":"\(evil)","title":"\(evil)"}
    """
  private static let item = """
    {"product":"a","version":"1","path":"/\(evil)","digest":"\(digest)","length":1,"placedAt":"\(date)",
    "title":"\(evil)"}
    """

  private static func body(_ request: HTTPRequest) -> String? {
    switch request.path {
    case "/v1/status":
      return """
        {"device":"d","server":\(peer),"store":\(peer),"started":"\(date)","libraryPath":"\(evil)",
        "freeSpace":1,"downloads":{"\(evil)":1},"unfinishedTransactions":0}
        """
    case "/v1/downloads": return #"{"downloads":[\#(download)]}"#
    case "/v1/downloads/d1": return download
    case "/v1/transactions": return #"{"transactions":[\#(transaction)]}"#
    case "/v1/library": return #"{"items":[\#(item)]}"#
    case "/v1/library/a/verify":
      return """
        {"items":[{"product":"a","version":"1","state":"damaged","bytesRead":1,
        "faults":[{"kind":"missing","path":"\(evil)"}]}]}
        """
    case "/v1/restore" where request.method == .get:
      return """
        {"products":[{"product":"a","version":"2","length":1,"because":"\(evil)","transaction":"1",
        "state":"\(evil)"}]}
        """
    case "/v1/operator/products": return #"{"items":[\#(product)]}"#
    case "/v1/operator/products/a": return product
    case "/v1/operator/products/a/versions": return #"{"items":[\#(version)]}"#
    case "/v1/operator/products/a/versions/1": return version
    case "/v1/operator/audit": return #"{"items":[\#(audit)]}"#
    default: return nil
    }
  }
}

@Suite("Text of others on a terminal")
struct ForeignTextTests {
  private static let executable =
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path + "/pullbox"

  /// Whether the character is one that may not reach a terminal; the line feeds are this program's own.
  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A: false
    case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  @Test(
    "no command prints what a terminal would obey, and no line that another wrote",
    arguments: [
      "downloads", "pause d1", "pause --all", "cancel d1", "transactions", "library", "library --verify",
      "restore", "restore --plan", "update --plan", "status", "buy a", "remove a", "priority d1 3",
      "urgency d1 now",
      "repair a",
      "products", "product a", "versions a", "versions a 1", "audit", "grants", "deliveries", "outbox", "gc",
      "scrub", "submit a 1", "release a 1", "update-size a 1",
    ])
  func commands(words: String) async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.path("agent.sock")
    try await withServer(ForeignTexts(), at: .unix(path: socket)) { _ in
      try await withServer(ForeignTexts()) { address in
        let output = directory.path("output")
        let process = try ChildProcess(
          Self.executable, words.split(separator: " ").map(String.init),
          environment: ChildProcess.inheritedEnvironment.merging([
            "PULLBOX_AGENT_SOCKET": socket, "PULLBOX_SERVER": "http://\(address)",
            "PULLBOX_OPERATOR_KEY": "key", "PULLBOX_PATIENCE": "0",
          ]) { $1 }, output: output)
        _ = await process.ending()
        let text = String(decoding: try FileSystem.read(output, upTo: .mebibytes(1)), as: UTF8.self)
        #expect(!text.isEmpty)
        #expect(!text.unicodeScalars.contains(where: Self.isObeyed), "\(text.debugDescription)")
        #expect(!text.split(separator: "\n").contains { $0.hasPrefix("forged") }, "\(text)")
      }
    }
  }
}
