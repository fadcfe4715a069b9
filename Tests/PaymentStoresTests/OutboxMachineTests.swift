import Testing

@testable import PaymentStores

@Suite("Outbox state machine")
struct OutboxMachineTests {
  private func machine(attempts: Int = 0, refusals: Int = 0) -> OutboxMachine {
    OutboxMachine(attempts: attempts, refusals: refusals, maximumRefusals: 20)
  }

  @Test("an accepted call is done, whatever came before")
  func accepted() {
    #expect(machine(attempts: 3, refusals: 100).handle(.accepted, chance: 0.5) == .markDone)
  }

  @Test(
    "without jitter the delay doubles from one second to 45",
    arguments: [(0, 1), (1, 2), (2, 4), (5, 32), (6, 45), (7, 45), (5000, 45)])
  func doubling(attempts: Int, seconds: Int) {
    let action = machine(attempts: attempts).handle(.unavailable(retryAfter: nil), chance: 0)
    #expect(action == .retry(after: .seconds(seconds)))
  }

  @Test("jitter takes up to half of the delay away")
  func jitter() {
    let action = machine(attempts: 3).handle(.unavailable(retryAfter: nil), chance: 1)
    #expect(action == .retry(after: .seconds(4)))
  }

  @Test(
    "a store that says for how long is left alone for that long, at most 45 seconds",
    arguments: [(30, 30), (45, 45), (46, 45), (30_000, 45), (Int.max, 45), (-7, 1), (Int.min, 1)])
  func retryAfter(said: Int, seconds: Int) {
    #expect(
      machine().handle(.unavailable(retryAfter: .seconds(said)), chance: 0)
        == .retry(after: .seconds(seconds)))
  }

  @Test(
    "a refused call is repeated later and later, from half a minute to a quarter of an hour",
    arguments: [(0, 30), (1, 60), (4, 480), (5, 900), (18, 900)])
  func refused(refusals: Int, seconds: Int) {
    let action = machine(attempts: 1000, refusals: refusals).handle(.refused, chance: 0)
    #expect(action == .retry(after: .seconds(seconds)))
  }

  @Test("a call that the store takes no more is dropped, whatever came before")
  func over() {
    #expect(machine().handle(.over, chance: 0.5) == .drop)
    #expect(machine(attempts: 30, refusals: 19).handle(.over, chance: 0) == .drop)
    #expect(OutboxMachine.Answer.over.outcome == .answered)
  }

  @Test("the twentieth refusal parks the call; failures of the store never do")
  func parked() {
    #expect(machine(attempts: 19, refusals: 19).handle(.refused, chance: 0.5) == .park)
    #expect(machine(attempts: 99, refusals: 99).handle(.refused, chance: 0.5) == .park)
    #expect(
      machine(attempts: 99, refusals: 19).handle(.unavailable(retryAfter: nil), chance: 0)
        == .retry(after: .seconds(45)))
  }

  @Test(
    "a call that the store fails at alone is repeated as one that is refused, from the sixth time on, and never parked"
  )
  func alone() {
    func action(attempts: Int, refusals: Int = 0) -> OutboxMachine.Action {
      machine(attempts: attempts, refusals: refusals).handle(
        .unavailable(retryAfter: nil), isAlone: true, chance: 0)
    }
    #expect(action(attempts: 0) == .retry(after: .seconds(1)))
    #expect(action(attempts: 4) == .retry(after: .seconds(16)))
    #expect(action(attempts: 5) == .retry(after: .seconds(30)))
    #expect(action(attempts: 6) == .retry(after: .seconds(60)))
    #expect(action(attempts: 99, refusals: 19) == .retry(after: .seconds(900)))
  }

  @Test("an abandoned call is no answer: the call stays due when it was")
  func abandoned() {
    #expect(machine(attempts: 60, refusals: 60).handle(.abandoned, chance: 0.5) == .leave)
  }
}
