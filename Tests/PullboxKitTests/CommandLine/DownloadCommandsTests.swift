import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import Testing

@testable import pullbox

@Suite("Whether the agent still has something to do")
struct PendingWorkTests {
  @Test("an agent without work is over at its first word, and not before")
  func idle() throws {
    var work = PendingWork()
    #expect(!work.isOver)
    let finished = try Sample.download(.finished, "placed")
    let news = work.apply(
      .snapshot(transactions: [try Sample.transaction(step: "finished")], downloads: [finished]))
    #expect(news.isEmpty)
    #expect(work.isOver)
  }

  @Test("a download that moves, waits or rests is work, until it has ended")
  func downloads() throws {
    var work = PendingWork()
    for state in [DownloadStatus.State.waiting, .active, .paused] {
      _ = work.apply(.snapshot(transactions: [], downloads: [try Sample.download(state, "x")]))
      #expect(!work.isOver)
    }
    #expect(work.apply(.event(.download(try Sample.download(.failed, "integrity")))).count == 1)
    #expect(work.isOver)
  }

  @Test("a transaction that is about to bring downloads is work; one that waits for something else is not")
  func transactions() throws {
    var work = PendingWork()
    _ = work.apply(.snapshot(transactions: [try Sample.transaction(step: "planning")], downloads: []))
    #expect(!work.isOver)
    let waiting = try Sample.transaction(step: "planning", reason: "content-not-released")
    _ = work.apply(.event(.transaction(waiting)))
    #expect(work.isOver)
  }

  @Test("while the agent is away nothing is over")
  func lost() throws {
    var work = PendingWork()
    _ = work.apply(.snapshot(transactions: [], downloads: []))
    _ = work.apply(.lost(nil, retryIn: .seconds(1)))
    #expect(!work.isOver)
  }

  @Test("the same word twice is no news")
  func repeated() throws {
    var work = PendingWork()
    let download = try Sample.download()
    #expect(work.apply(.snapshot(transactions: [], downloads: [download])).count == 1)
    #expect(work.apply(.event(.download(download))).isEmpty)
  }
}

@Suite("Which download is meant")
struct DownloadSelectorTests {
  private func list() throws -> [DownloadStatus] {
    [
      try Sample.download(id: "abcd1111", product: "a", .finished, "placed"),
      try Sample.download(id: "abcd2222", product: "a", .active, "transferring"),
      try Sample.download(id: "ef013333", product: "b", .failed, "integrity"),
    ]
  }

  @Test(
    "an identifier, its beginning, or a product",
    arguments: [("abcd1111", "abcd1111"), ("abcd2", "abcd2222"), ("a", "abcd2222"), ("b", "ef013333")])
  func found(text: String, id: String) throws {
    #expect(try DownloadSelector.find(text, among: try list()).id.description == id)
  }

  @Test("what is unknown, too short or ambiguous is refused", arguments: ["c", "abc", "abcd", ""])
  func refused(text: String) throws {
    let downloads = try list()
    #expect(throws: APICallError.self) { try DownloadSelector.find(text, among: downloads) }
  }
}

/// Values as the agent sends them.
enum Sample {
  static func download(
    id: String = "d1", product: String = "com.example.heroes.issue42", transaction: String = "20",
    _ state: DownloadStatus.State = .active, _ reason: String = "transferring", verified: Int64 = 0,
    total: Int64? = 10 << 20, speed: Double = 0, timeRemaining: Double? = nil, error: Problem? = nil,
    section: String? = nil
  ) throws -> DownloadStatus {
    DownloadStatus(
      id: try #require(DownloadIdentifier(id)), product: try #require(ProductIdentifier(product)),
      version: ContentVersion("1.0"),
      transaction: try #require(TransactionIdentifier(transaction)), state: state, reason: reason,
      bytesVerified: ByteCount(verified), bytesTotal: total.map { ByteCount($0) },
      bytesReceived: ByteCount(verified),
      progress: total.map { Double(verified) / Double($0) } ?? 0, timeRemaining: timeRemaining, speed: speed,
      error: error, contentPath: state == .finished ? "/library/x" : nil,
      section: try section.map { try #require(SectionTag($0)) })
  }

  static func transaction(
    _ id: String = "20", state: String = "purchased", step: String = "delivering", reason: String? = nil,
    error: Problem? = nil, downloads: [String] = ["d1"]
  ) throws -> AgentTransaction {
    AgentTransaction(
      id: try #require(TransactionIdentifier(id)),
      product: try #require(ProductIdentifier("com.example.heroes.issue42")),
      state: state, step: step, reason: reason, error: error,
      downloads: try downloads.map { try #require(DownloadIdentifier($0)) })
  }
}
