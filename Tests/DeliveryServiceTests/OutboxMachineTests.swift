import Testing

@testable import DeliveryService

@Suite("Outbox state machine")
struct OutboxMachineTests {
  @Test("an accepted call is done")
  func accepted() {
    #expect(OutboxMachine(attempts: 3).handle(.accepted, chance: 0.5) == .markDone)
  }

  @Test(
    "without jitter the delay doubles from one second to a quarter of an hour",
    arguments: [(1, 1), (2, 2), (3, 4), (8, 128), (10, 512), (11, 900), (60, 900)])
  func doubling(attempts: Int, seconds: Int) {
    let action = OutboxMachine(attempts: attempts).handle(.unavailable(retryAfter: nil), chance: 0)
    #expect(action == .retry(after: .seconds(seconds)))
  }

  @Test("jitter takes up to half of the delay away")
  func jitter() {
    let action = OutboxMachine(attempts: 4).handle(.unavailable(retryAfter: nil), chance: 1)
    #expect(action == .retry(after: .seconds(4)))
  }

  @Test("a store that says how long is left alone for that long, at most a quarter of an hour")
  func retryAfter() {
    let machine = OutboxMachine(attempts: 1)
    #expect(machine.handle(.unavailable(retryAfter: .seconds(30)), chance: 0) == .retry(after: .seconds(30)))
    #expect(
      machine.handle(.unavailable(retryAfter: .seconds(9999)), chance: 0) == .retry(after: .seconds(900)))
  }

  @Test("a refused call is kept for the operator and repeated at the longest distance")
  func refused() {
    #expect(OutboxMachine(attempts: 1).handle(.refused, chance: 1) == .retry(after: .seconds(900)))
  }

  @Test("an abandoned call is no answer: the call stays due when it was")
  func abandoned() {
    #expect(OutboxMachine(attempts: 60).handle(.abandoned, chance: 0.5) == .leave)
  }
}
