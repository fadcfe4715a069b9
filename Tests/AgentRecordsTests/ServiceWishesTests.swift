import CoreTypes
import PullboxAPI
import PullboxAPIClient
import Testing

@testable import AgentRecords

@Suite("What a service wants not to be asked") struct ServiceWishesTests {
  private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  private var wishes = ServiceWishes(longest: .seconds(86_400))

  @Test(
    "what it tells one request counts for all of its kind until its time is over, and for no others",
    arguments: [
      Problem(.tooManyRequests, retryAfterSeconds: 60), Problem(.unavailable, retryAfterSeconds: 60),
    ])
  func kinds(problem: Problem) {
    var wishes = wishes
    wishes.note(.problem(problem), to: "POST /v1/grants", at: now)
    let later = now + .seconds(20)
    guard case .problem(let told) = wishes.refusal(of: "POST /v1/grants", at: later) else {
      Issue.record("it is asked all the same")
      return
    }
    #expect(told.code == problem.code && told.retryAfterSeconds == 40)
    #expect(wishes.refusal(of: "POST /v1/entitlements", at: later) == nil)
    #expect(wishes.refusal(of: "POST /v1/grants", at: now + .seconds(60)) == nil)
    #expect(wishes.refusal(of: "POST /v1/grants", at: later) == nil)
  }

  @Test(
    "what it says of one purchase, and what names no time, is that request's alone",
    arguments: [
      Problem(.verificationUndetermined, retryAfterSeconds: 60), Problem(.unavailable),
      Problem(.purchaseRequired, retryAfterSeconds: 60), Problem(.contentDamaged, retryAfterSeconds: 60),
    ])
  func others(problem: Problem) {
    var wishes = wishes
    wishes.note(.problem(problem), to: "POST /v1/grants", at: now)
    #expect(wishes.refusal(of: "POST /v1/grants", at: now) == nil)
  }
}
