import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import Testing

@testable import pullbox

@Suite("How a download and a transaction stand, in words")
struct StandingTextTests {
  private let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)

  @Test("what waits for room says the numbers (K10)")
  func space() throws {
    var download = try Sample.download(.waiting, "insufficient-space")
    download.space = SpaceShortage(
      needed: .mebibytes(1946), free: .mebibytes(1229), reserve: .mebibytes(32), removable: .zero)
    #expect(
      StandingText.of(download, now: now)
        == "waits for room: needs 1.9 GiB, 1.2 GiB free, of which 32.0 MiB stay")
    download.cause = "1.9 GiB are needed, 1.2 GiB are free"
    #expect(StandingText.of(download, now: now).hasSuffix("stay"))
    download.space?.removable = .mebibytes(700)
    #expect(
      StandingText.of(download, now: now).hasSuffix("stay; 700.0 MiB could be removed and fetched again"))
    download.space = SpaceShortage(
      needed: .mebibytes(20), free: .mebibytes(10), reserve: .zero, removable: .zero, quota: .mebibytes(200))
    #expect(
      StandingText.of(download, now: now)
        == "waits for room: needs 20.0 MiB, 10.0 MiB left of the quota of 200.0 MiB")
  }

  @Test("what waits says the cause and when the next try is; a reason of tomorrow is shown as it is")
  func waiting() throws {
    var download = try Sample.download(.waiting, "storage-failure")
    download.cause = "pwrite /library/.staging/1: Input/output error"
    download.notBefore = now + .seconds(95)
    #expect(
      StandingText.of(download, now: now)
        == "the disk does not take it, next try in 1 min 35 s (pwrite /library/.staging/1: Input/output error)"
    )
    download.notBefore = now
    #expect(!StandingText.of(download, now: now).contains("next try"))
    #expect(StandingText.of(try Sample.download(.waiting, "moon-phase"), now: now) == "waits (moon-phase)")
    let alone = try Sample.download(.waiting, "waiting-for-content")
    #expect(StandingText.of(alone, now: now) == "waits for its content")
  }

  @Test("what failed says why, once")
  func failed() throws {
    #expect(
      StandingText.of(try Sample.download(.failed, "integrity"), now: now)
        == "failed: the bytes that came are not those that were promised")
    var refused = try Sample.download(.failed, "content-withdrawn", error: Problem(.contentWithdrawn))
    refused.cause = "The publisher withdrew this content"
    #expect(StandingText.of(refused, now: now) == "failed: The publisher withdrew this content")
  }

  @Test("a purchase that waits says so in words, and a download that was cancelled in a sentence")
  func words() throws {
    var tracker = PurchaseTracker(try #require(TransactionIdentifier("2000000000000001")))
    var transaction = AgentTransaction(
      id: try #require(TransactionIdentifier("2000000000000001")),
      product: try #require(ProductIdentifier("com.example.heroes.issue42")), state: "purchased",
      step: "waiting-for-server", reason: "store-not-answered", error: nil, downloads: [])
    _ = tracker.apply(.event(.transaction(transaction)))
    #expect(tracker.obstacle == "waits for the store's confirmation")
    transaction.step = "delivering"
    transaction.reason = "download-cancelled"
    #expect(StandingText.of(transaction, now: now) == "delivering: a download was cancelled")
    #expect(
      StandingText.ending(of: try Sample.download(.cancelled, "user"))
        == "the download of com.example.heroes.issue42 was cancelled")
  }

  @Test("a wait whose time is over ends with 5 when there is no room, with 4 otherwise (K10)")
  func expiry() throws {
    func code(_ reason: String) throws -> Int32 {
      var tracker = PurchaseTracker(try #require(TransactionIdentifier("20")))
      _ = tracker.apply(.event(.download(try Sample.download(.waiting, reason))))
      return tracker.expiry.exitCode.rawValue
    }
    #expect(try code("insufficient-space") == 5)
    #expect(try code("server-unreachable") == 4)
    #expect(PurchaseTracker(try #require(TransactionIdentifier("20"))).expiry.exitCode.rawValue == 4)
  }
}
