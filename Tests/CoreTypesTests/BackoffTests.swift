import CoreTypes
import Testing

struct BackoffTests {
  /// Gives the same number for ever.
  private struct Constant: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
  }

  // Numbers that the standard library does not reject for the sake of evenness: a generator that always gives
  // one that it does would be asked for ever.
  private static let least: UInt64 = 1 << 10
  private static let middle: UInt64 = 1 << 63

  private func delays(_ backoff: Backoff, _ failures: [Int], chance: UInt64 = Self.least) -> [Double] {
    var generator = Constant(value: chance)
    return failures.map { backoff.delay(afterFailures: $0, using: &generator).inSeconds }
  }

  @Test("delays double up to the cap and stay there")
  func doubling() {
    let backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(10), jitter: 0)
    #expect(delays(backoff, [0, 1, 2, 3, 4, 5, 6, 1_000_000]) == [0, 1, 2, 4, 8, 10, 10, 10])
  }

  @Test("chance takes away at most its part")
  func jitter() {
    let backoff = Backoff(initial: .seconds(8), factor: 2, cap: .seconds(100), jitter: 0.5)
    #expect(delays(backoff, [1, 2]) == [8, 16])
    let middle = delays(backoff, [1, 2], chance: Self.middle)
    #expect(abs(middle[0] - 6) < 0.001)
    #expect(abs(middle[1] - 12) < 0.001)
  }

  @Test("no delay is longer than without chance, none shorter than its part allows")
  func jitterBounds() {
    let backoff = Backoff(initial: .seconds(8), factor: 2, cap: .seconds(100), jitter: 0.25)
    for _ in 0..<100 {
      let delay = backoff.delay(afterFailures: 1).inSeconds
      #expect((6...8).contains(delay))
    }
  }

  @Test("an initial delay above the cap is the cap")
  func initialAboveCap() {
    #expect(delays(Backoff(initial: .seconds(60), cap: .seconds(5), jitter: 0), [1, 2]) == [5, 5])
  }
}
