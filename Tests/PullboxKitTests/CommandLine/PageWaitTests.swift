import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
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
