import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import Testing

@testable import DownloadAgent

@Suite("Pages of the agent's lists")
struct ListQueryTests {
  private func query(_ text: String) throws -> ListQuery {
    try ListQuery(try HTTPRequest(method: .get, rawTarget: "/v1/downloads\(text)"))
  }

  private func downloads() throws -> [DownloadStatus] {
    let product = try #require(ProductIdentifier("com.example.a"))
    let transaction = try #require(TransactionIdentifier("20"))
    return try (0..<5).map { index in
      DownloadStatus(
        id: try #require(DownloadIdentifier("d\(index)")), product: product, version: nil,
        transaction: transaction, state: index % 2 == 0 ? .finished : .waiting, reason: "x",
        bytesVerified: .zero,
        bytesTotal: nil, bytesReceived: .zero, progress: 0, timeRemaining: nil, speed: 0, error: nil,
        contentPath: nil)
    }
  }

  private func names(_ text: String) throws -> (String, String?) {
    let page = try query(text).page(of: try downloads())
    return (page.downloads.map(\.id.description).joined(separator: " "), page.next)
  }

  @Test("pages follow one another without a gap, and the last one says so")
  func pages() throws {
    #expect(try names("") == ("d0 d1 d2 d3 d4", nil))
    #expect(try names("?limit=2") == ("d0 d1", "d1"))
    #expect(try names("?limit=2&after=d1") == ("d2 d3", "d3"))
    #expect(try names("?limit=2&after=d3") == ("d4", nil))
    #expect(try names("?after=d4") == ("", nil))
  }

  @Test("a state selects, also behind one that does not have it")
  func states() throws {
    #expect(try names("?state=live") == ("d1 d3", nil))
    #expect(try names("?state=over") == ("d0 d2 d4", nil))
    #expect(try names("?state=finished&limit=1") == ("d0", "d0"))
    #expect(try names("?state=live&after=d2") == ("d3", nil))
    #expect(try names("?state=failed") == ("", nil))
  }

  @Test(
    "what cannot be meant is refused",
    arguments: ["?state=x", "?after=d9", "?limit=0", "?limit=1001", "?sort=x"])
  func refused(text: String) throws {
    let problem = #expect(throws: Problem.self) { try names(text) }
    #expect(problem?.code == .requestMalformed)
  }
}
