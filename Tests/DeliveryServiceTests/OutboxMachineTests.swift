import Testing

@testable import DeliveryService

@Suite("Outbox state machine")
struct OutboxMachineTests {
  @Test("an accepted call is done")
  func accepted() {
    #expect(OutboxMachine(attempts: 3).decide(.accepted, jitter: 0.5) == .done)
  }

  @Test(
    "without jitter the delay doubles from one second to a quarter of an hour",
    arguments: [(1, 1), (2, 2), (3, 4), (8, 128), (10, 512), (11, 900), (60, 900)])
  func doubling(attempts: Int, seconds: Int) {
    let decision = OutboxMachine(attempts: attempts).decide(.unavailable(retryAfter: nil), jitter: 0)
    #expect(decision == .retry(after: .seconds(seconds)))
  }

  @Test("jitter takes up to half of the delay away")
  func jitter() {
    let decision = OutboxMachine(attempts: 4).decide(.unavailable(retryAfter: nil), jitter: 1)
    #expect(decision == .retry(after: .seconds(4)))
  }

  @Test("a store that says how long is left alone for that long, at most a quarter of an hour")
  func retryAfter() {
    let machine = OutboxMachine(attempts: 1)
    #expect(machine.decide(.unavailable(retryAfter: .seconds(30)), jitter: 0) == .retry(after: .seconds(30)))
    #expect(
      machine.decide(.unavailable(retryAfter: .seconds(9999)), jitter: 0) == .retry(after: .seconds(900)))
  }

  @Test("a refused call is kept for the operator and repeated at the longest distance")
  func refused() {
    #expect(OutboxMachine(attempts: 1).decide(.refused, jitter: 1) == .retry(after: .seconds(900)))
  }
}
