import AgentTesting
import Commerce
import CoreTypes
import HTTPServer
import PackageTesting
import PullboxAPI
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("Pages of the agent's lists")
struct ListQueryTests {
  private func query(_ text: String) throws -> ListQuery {
    try ListQuery(try HTTPRequest(method: .get, rawTarget: "/v1/downloads\(text)"))
  }

  @Test("a word selects states of downloads")
  func states() throws {
    #expect(try query("").downloadStates() == Set(DownloadStatus.State.allCases))
    #expect(try query("?state=live").downloadStates() == [.waiting, .active, .paused])
    #expect(try query("?state=over").downloadStates() == [.finished, .failed, .cancelled])
    #expect(try query("?state=paused").downloadStates() == [.paused])
  }

  @Test("a word selects transactions that are over, or are not")
  func transactions() throws {
    #expect(try query("").transactionFilter() == nil)
    #expect(try query("?state=live").transactionFilter() == .unfinished)
    #expect(try query("?state=over").transactionFilter() == .over)
    #expect(throws: Problem.self) { try query("?state=paused").transactionFilter() }
  }

  @Test("what cannot be meant is refused", arguments: ["?state=x", "?limit=0", "?limit=1001", "?sort=x"])
  func refused(text: String) throws {
    let problem = #expect(throws: Problem.self) { try query(text).downloadStates() }
    #expect(problem?.code == .requestMalformed)
  }

  @Test("pages of downloads follow one another without a gap, the newest first, and the last one says so")
  func pages() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    for number in 1...3 { try server.queuePurchase(transaction: "200000000000000\(number)") }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        for number in 1...3 { _ = try await agent.transaction("200000000000000\(number)", isAt: "finished") }
        func page(_ text: String) async throws -> DownloadsResponse {
          try await query(text).page(of: agent.downloads)
        }
        let all = try await page("?state=finished")
        #expect(all.downloads.count == 3 && all.next == nil)
        let first = try await page("?limit=2")
        #expect(first.downloads == Array(all.downloads.prefix(2)))
        let next = try #require(first.next)
        #expect(next == all.downloads[1].id.description)
        let last = try await page("?limit=2&after=\(next)")
        #expect(last.downloads == [all.downloads[2]] && last.next == nil)
        #expect(try await page("?state=live").downloads.isEmpty)
        let transactions = try await query("?limit=2").page(of: agent.transactions)
        #expect(transactions.transactions.map(\.id.description) == ["2000000000000001", "2000000000000002"])
        #expect(transactions.next == "2000000000000002")
      }
    }
  }
}
