import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime
import Testing

@testable import pullbox

@Suite("Waiting for a purchase")
struct PurchaseTrackerTests {
  private func watch(_ updates: [AgentUpdate]) throws -> String {
    var tracker = PurchaseTracker(try #require(TransactionIdentifier("20")))
    for update in updates {
      switch tracker.apply(update).verdict {
      case .finished: return "finished"
      case .failed(let failure): return "exit \(failure.exitCode.rawValue)"
      case nil: continue
      }
    }
    return "goes on"
  }

  private func event(_ transaction: AgentTransaction) -> AgentUpdate { .event(.transaction(transaction)) }
  private func event(_ download: DownloadStatus) -> AgentUpdate { .event(.download(download)) }

  @Test("a download that finished is not the end: the transaction is")
  func finished() throws {
    let download = try Sample.download(.finished, "placed")
    #expect(try watch([event(download)]) == "goes on")
    #expect(
      try watch([event(download), event(try Sample.transaction(step: "waiting-for-server"))]) == "goes on")
    #expect(try watch([event(download), event(try Sample.transaction(step: "finished"))]) == "finished")
  }

  @Test("what ended while the agent was away is seen in the snapshot after it")
  func afterRestart() throws {
    let over = try Sample.transaction(step: "finished")
    #expect(
      try watch([.lost(nil, retryIn: .seconds(1)), .snapshot(transactions: [over], downloads: [])])
        == "finished")
    #expect(try watch([.snapshot(transactions: [], downloads: [])]) == "exit 4")
  }

  @Test("other transactions do not matter")
  func others() throws {
    #expect(try watch([event(try Sample.transaction("21", step: "finished"))]) == "goes on")
    let download = try Sample.download(transaction: "21", .failed, "integrity")
    #expect(try watch([event(download)]) == "goes on")
  }

  @Test("obstacles that pass are waited for")
  func waits() throws {
    let undetermined = Problem(.verificationUndetermined, retryAfterSeconds: 5)
    let transaction = try Sample.transaction(
      step: "planning", reason: "verification-undetermined", error: undetermined)
    #expect(try watch([event(transaction)]) == "goes on")
    #expect(try watch([event(try Sample.download(.waiting, "insufficient-space"))]) == "goes on")
    #expect(try watch([event(try Sample.download(.paused, "user"))]) == "goes on")
  }

  @Test("a payment that failed and a purchase that was revoked are no entitlement")
  func notEntitled() throws {
    #expect(
      try watch([event(try Sample.transaction(state: "failed", step: "failed", reason: "payment-failed"))])
        == "exit 3")
    let revoked = try Sample.transaction(step: "planning", error: Problem(.entitlementRevoked))
    #expect(try watch([event(revoked)]) == "exit 3")
  }

  @Test(
    "a download that failed gives its kind, whichever of the two events comes first",
    arguments: [
      ("integrity", nil, 6), ("insufficient-storage", nil, 5), ("user", nil, 1),
      ("purchase-required", ProblemCode.purchaseRequired, 3),
    ])
  func failedDownload(reason: String, problem: ProblemCode?, code: Int) throws {
    let download = try Sample.download(.failed, reason, error: problem.map { Problem($0) })
    let blocked = try Sample.transaction(reason: "download-failed")
    #expect(try watch([event(download), event(blocked)]) == "exit \(code)")
    #expect(try watch([event(blocked), event(download)]) == "exit \(code)")
  }
}
