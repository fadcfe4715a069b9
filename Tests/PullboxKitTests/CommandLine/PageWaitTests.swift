import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxKit
import PullboxTesting
import Testing

@testable import pullbox

@Suite("What one who waits for a page is told")
struct PageWaitTests {
  private static let product = ProductIdentifier("com.example.heroes.issue42")

  @Test("each reason is told once, at once and whenever it changes, and none while the download goes on")
  func reasons() throws {
    var wait = PageWait(try #require(Self.product))
    func news(_ state: DownloadStatus.State, _ reason: String, isEvent: Bool = true) throws -> [String] {
      let download = try Sample.download(state, reason)
      return wait.news(
        of: isEvent ? .event(.download(download)) : .snapshot(transactions: [], downloads: [download]))
    }
    #expect(
      try news(.waiting, "server-unreachable", isEvent: false) == [
        "com.example.heroes.issue42 the server cannot be reached; the page comes when it goes on, at once by 'pullbox resume --now d1'"
      ])
    #expect(try news(.waiting, "server-unreachable").isEmpty)
    #expect(try news(.waiting, "metered").first?.contains("waits for a way that is not metered") == true)
    #expect(try news(.active, "transferring").isEmpty)
    #expect(try news(.waiting, "metered").count == 1)
    #expect(
      try news(.paused, "user") == [
        "com.example.heroes.issue42 paused; 'pullbox resume d1' goes on with it"
      ])
    #expect(try news(.failed, "integrity").isEmpty)
  }

  @Test("events that cannot be read end what is told, and not the wait for the page")
  func refusedEvents() async throws {
    let double = AgentDouble()
    double.list(downloads: [try Sample.download(.waiting, "metered")])
    double.script([[]])
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(double, at: .unix(path: path)) { _ in
      let agent = try AgentClient(socketPath: path)
      let product = try #require(Self.product)
      var told: [String] = []
      // The double has no second script: the events are refused then.
      try await OpenCommand.tellWaits(of: product, from: agent) { told.append($0) }
      #expect(told.count == 1)
      await #expect(throws: CancellationError.self) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.cancelAll()
          group.addTask { try await OpenCommand.tellWaits(of: product, from: agent) { _ in } }
          try await group.waitForAll()
        }
      }
    }
  }

  @Test("a later try is no other reason, and other products and sections are none of it")
  func others() throws {
    var wait = PageWait(try #require(Self.product))
    var download = try Sample.download(.waiting, "server-unreachable")
    #expect(wait.news(of: .event(.download(download))).count == 1)
    download.notBefore = Timestamp(millisecondsSinceEpoch: 4_102_444_800_000)
    #expect(wait.news(of: .event(.download(download))).isEmpty)
    let section = try Sample.download(.waiting, "queued", section: "hires")
    #expect(wait.news(of: .event(.download(section))).isEmpty)
    let other = try Sample.download(product: "com.example.other", .waiting, "queued")
    #expect(wait.news(of: .event(.download(other))).isEmpty)
  }
}
