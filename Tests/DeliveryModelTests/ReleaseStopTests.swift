import Testing

@testable import DeliveryModel

@Suite("A release that pauses itself", .timeLimit(.minutes(2)))
struct ReleaseStopTests {
  @Test(
    "more than the share of at least fifty purchases is too many",
    arguments: [
      (49, 0, 2, false), (50, 0, 2, true), (1, 49, 2, false), (2, 48, 2, true), (2, 97, 2, true),
      (2, 98, 2, false), (20, 980, 2, false), (21, 979, 2, true), (1, 49, 0, true), (0, 50, 0, false),
      (5000, 0, 100, false),
    ])
  func rule(failed: Int, verified: Int, share: Int, isExceeded: Bool) {
    let rule = ReleaseStopRule(share: share)
    #expect(rule.isExceeded(failed: failed, verified: verified) == isExceeded)
    // The number that is counted decides as all of them would.
    #expect(
      rule.isExceeded(failed: failed, verified: min(verified, rule.sufficientCount(besides: failed)))
        == isExceeded)
  }
}
