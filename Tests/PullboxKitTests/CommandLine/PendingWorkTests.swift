@testable import pullbox
import PullboxAPI
import PullboxKit
import Testing

@Suite("Whether the agent still has something to do")
struct PendingWorkTests {
  @Test("an agent without work is over at its first word, and not before")
  func idle() throws {
    var work = PendingWork()
    #expect(!work.isOver)
    let finished = try Sample.download(.finished, "placed")
    let news = work.take(
      .snapshot(transactions: [try Sample.transaction(step: "finished")], downloads: [finished]))
    #expect(news.isEmpty)
    #expect(work.isOver)
  }

  @Test("a download that moves, waits or rests is work, until it has ended")
  func downloads() throws {
    var work = PendingWork()
    for state in [DownloadStatus.State.waiting, .active, .paused] {
      _ = work.take(.snapshot(transactions: [], downloads: [try Sample.download(state, "x")]))
      #expect(!work.isOver)
    }
    #expect(work.take(.event(.download(try Sample.download(.failed, "integrity")))).count == 1)
    #expect(work.isOver)
  }

  @Test("a transaction that is about to bring downloads is work; one that waits for somebody is not")
  func transactions() throws {
    var work = PendingWork()
    _ = work.take(.snapshot(transactions: [try Sample.transaction(step: "planning")], downloads: []))
    #expect(!work.isOver)
    let waiting = try Sample.transaction(step: "planning", reason: "content-not-released")
    _ = work.take(.event(.transaction(waiting)))
    #expect(work.isOver)
  }

  @Test("while the agent is away nothing is over")
  func lost() throws {
    var work = PendingWork()
    _ = work.take(.snapshot(transactions: [], downloads: []))
    _ = work.take(.lost(nil, retryIn: .seconds(1)))
    #expect(!work.isOver)
  }

  @Test("the same word twice is no news")
  func repeated() throws {
    var work = PendingWork()
    let download = try Sample.download()
    #expect(work.take(.snapshot(transactions: [], downloads: [download])).count == 1)
    #expect(work.take(.event(.download(download))).isEmpty)
  }
}
