import CoreTypes
import Testing

@testable import PaymentStores

@Suite("Circuit breaker of a store")
struct CircuitBreakerTests {
  private let start = MonotonicInstant(nanoseconds: 7_000_000_000)
  private static let failed = CircuitBreaker.Outcome.failed(retryAfter: nil)

  private func at(_ seconds: Int) -> MonotonicInstant { start + .seconds(seconds) }

  /// Opened by five failures at the start.
  private func opened(retryAfter: Duration? = nil) -> CircuitBreaker {
    var breaker = CircuitBreaker()
    for _ in 1...5 {
      #expect(breaker.permit(at: start) == .call(at: start))
      breaker.note(.failed(retryAfter: retryAfter), of: .call(at: start), at: start)
    }
    return breaker
  }

  @Test("four failures leave it closed, the fifth opens it")
  func opening() {
    var breaker = CircuitBreaker()
    for _ in 1...4 {
      #expect(breaker.permit(at: start) == .call(at: start))
      breaker.note(Self.failed, of: .call(at: start), at: start)
    }
    #expect(breaker.permit(at: start) == .call(at: start))
    #expect(!breaker.isOpen)
    breaker.note(Self.failed, of: .call(at: start), at: start)
    #expect(breaker.isOpen)
    #expect(breaker.permit(at: start) == .wait(.seconds(30)))
    #expect(breaker.nextProbe == at(30))
  }

  @Test(
    "it knows how long ago a call was answered, and how long ago one failed; a call that was given up says nothing"
  )
  func standing() {
    var breaker = CircuitBreaker()
    #expect(breaker.standing(at: start) == CircuitBreaker.Standing())
    breaker.note(.answered, of: .call(at: at(1)), at: at(1))
    breaker.note(Self.failed, of: .call(at: at(5)), at: at(5))
    breaker.note(.abandoned, of: .call(at: at(7)), at: at(7))
    #expect(
      breaker.standing(at: at(10))
        == CircuitBreaker.Standing(sinceAnswer: .seconds(9), sinceFailure: .seconds(5)))
    #expect(opened().standing(at: at(2)).isOpen)
  }

  @Test(
    "hastened, it permits one probe at once, and the next 30 seconds after that; closed, it stays as it is")
  func hastened() {
    var breaker = opened()
    breaker.hasten(at: at(3))
    #expect(breaker.permit(at: at(3)) == .probe)
    #expect(breaker.permit(at: at(3)) == .wait(.seconds(30)))
    var closed = CircuitBreaker()
    closed.hasten(at: at(3))
    #expect(closed == CircuitBreaker())
  }

  @Test("only failures in a row count: an answer between them begins anew")
  func inARow() {
    var breaker = CircuitBreaker()
    for number in 1...40 {
      breaker.note(number.isMultiple(of: 5) ? .answered : Self.failed, of: .call(at: start), at: start)
    }
    #expect(!breaker.isOpen)
  }

  @Test("open, it permits one probe in 30 seconds and nothing else")
  func probes() {
    var breaker = opened()
    #expect(breaker.permit(at: at(29)) == .wait(.seconds(1)))
    #expect(breaker.permit(at: at(30)) == .probe)
    #expect(breaker.permit(at: at(30)) == .wait(.seconds(30)))
    breaker.note(Self.failed, of: .probe, at: at(40))
    #expect(breaker.permit(at: at(59)) == .wait(.seconds(1)))
    #expect(breaker.permit(at: at(60)) == .probe)
  }

  @Test("an answered probe closes it, and five failures open it again")
  func closing() {
    var breaker = opened()
    let permit = breaker.permit(at: at(30))
    breaker.note(.answered, of: permit, at: at(31))
    #expect(breaker.permit(at: at(31)) == .call(at: at(31)))
    #expect(breaker.nextProbe == nil)
    for _ in 1...4 { breaker.note(Self.failed, of: .call(at: at(31)), at: at(32)) }
    #expect(!breaker.isOpen)
    breaker.note(Self.failed, of: .call(at: at(31)), at: at(33))
    #expect(breaker.permit(at: at(33)) == .wait(.seconds(28)))
  }

  @Test("calls that hung for longer than the interval are followed by a probe at once")
  func hanging() {
    var breaker = CircuitBreaker()
    for _ in 1...5 { #expect(breaker.permit(at: start) == .call(at: start)) }
    for _ in 1...5 { breaker.note(Self.failed, of: .call(at: start), at: at(45)) }
    #expect(breaker.isOpen)
    #expect(breaker.permit(at: at(45)) == .probe)
    #expect(breaker.permit(at: at(45)) == .wait(.seconds(30)))
  }

  @Test("calls that hung put no probe off that another was answered among, and that others began after")
  func hangingBesideAnswers() {
    var breaker = CircuitBreaker()
    for _ in 1...9 { #expect(breaker.permit(at: start) == .call(at: start)) }
    for _ in 1...3 { breaker.note(Self.failed, of: .call(at: start), at: at(45)) }
    breaker.note(.answered, of: .call(at: start), at: at(45))
    #expect(breaker.permit(at: at(45)) == .call(at: at(45)))
    for _ in 1...5 { breaker.note(Self.failed, of: .call(at: start), at: at(46)) }
    #expect(breaker.isOpen)
    #expect(breaker.permit(at: at(46)) == .probe)
  }

  @Test("calls from before it opened put no probe off when they fail, and close it when they are answered")
  func stragglers() {
    var breaker = opened()
    breaker.note(.failed(retryAfter: .seconds(44)), of: .call(at: start), at: at(20))
    #expect(breaker.nextProbe == at(30))
    breaker.note(.answered, of: .call(at: start), at: at(21))
    #expect(breaker.permit(at: at(21)) == .call(at: at(21)))
  }

  @Test("an abandoned probe may be made again at once; an abandoned call is none")
  func abandoned() {
    var breaker = opened()
    #expect(breaker.permit(at: at(30)) == .probe)
    breaker.note(.abandoned, of: .call(at: at(31)), at: at(31))
    #expect(breaker.permit(at: at(31)) == .wait(.seconds(29)))
    breaker.note(.abandoned, of: .probe, at: at(31))
    #expect(breaker.permit(at: at(31)) == .probe)
    var closed = CircuitBreaker()
    for _ in 1...100 { closed.note(.abandoned, of: .call(at: start), at: start) }
    #expect(!closed.isOpen)
  }

  @Test("a probe whose end is never noted does not keep the next one away")
  func lostProbe() {
    var breaker = opened()
    for round in 1...10 { #expect(breaker.permit(at: at(30 * round)) == .probe) }
  }

  @Test(
    "a store that says for how long is left alone for that long: 30 seconds at least, 45 at most",
    arguments: [
      (Duration.seconds(-9_000), 30), (.zero, 30), (.seconds(31), 31), (.seconds(45), 45),
      (.seconds(30_000), 45),
      (.seconds(Int64.max), 45),
    ])
  func retryAfter(said: Duration, seconds: Int) {
    var breaker = opened(retryAfter: said)
    #expect(breaker.nextProbe == at(seconds))
    let permit = breaker.permit(at: at(60))
    #expect(permit == .probe)
    breaker.note(.failed(retryAfter: said), of: permit, at: at(60))
    #expect(breaker.nextProbe == at(60 + seconds))
  }
}
