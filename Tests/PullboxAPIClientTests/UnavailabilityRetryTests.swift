import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Synchronization
import Testing

@Suite("Retries of a service that does not answer")
struct UnavailabilityRetryTests {
  private final class Told: Sendable {
    let times = Mutex(0)

    var count: Int { times.withLock { $0 } }
  }

  private static let refused = APICallError.unreachable(
    HTTPClientError(code: .connectionFailed, message: "connection refused", isRetryable: true))

  private let clock = AdvancingClock()
  private let begun = Told()

  private func retry(
    limit: Duration = .seconds(60), jitter: Double = 0, seed: UInt64 = 1
  ) -> UnavailabilityRetry {
    UnavailabilityRetry(
      limit: limit, backoff: Backoff(initial: .milliseconds(250), cap: .seconds(5), jitter: jitter),
      clock: clock, generator: SplitMix(seed: seed)
    ) { [begun] _ in begun.times.withLock { $0 += 1 } }
  }

  /// Fails with each of `errors`, one call after the other, then succeeds; answers the number of calls.
  private func calls(_ errors: [APICallError], _ retry: UnavailabilityRetry) async throws(APICallError)
    -> Int
  {
    var count = 0
    return try await retry.run { () async throws(APICallError) in
      count += 1
      guard count > errors.count else { throw errors[count - 1] }
      return count
    }
  }

  @Test("a call is made again until it is answered, and its waiting is told once")
  func answered() async throws {
    #expect(try await calls([Self.refused, Self.refused, Self.refused], retry()) == 4)
    #expect(begun.count == 1)
    // 0.25 + 0.5 + 1 seconds.
    #expect(clock.now() == MonotonicInstant(nanoseconds: 1_750_000_000))
  }

  @Test("jitter takes up to its part of each pause, by the generator that was given")
  func jitter() async throws {
    let errors = [Self.refused, Self.refused, Self.refused]
    #expect(try await calls(errors, retry(jitter: 0.5, seed: 1)) == 4)
    let first = clock.now().nanoseconds
    #expect(first >= 875_000_000 && first < 1_750_000_000)
    #expect(try await calls(errors, retry(jitter: 0.5, seed: 1)) == 4)
    #expect(clock.now().nanoseconds == 2 * first)
    #expect(try await calls(errors, retry(jitter: 0.5, seed: 2)) == 4)
    #expect(clock.now().nanoseconds != 3 * first)
  }

  @Test("what answers at once is not spoken of")
  func atOnce() async throws {
    #expect(try await calls([], retry()) == 1)
    #expect(begun.count == 0)
  }

  @Test("it ends with the last failure once the limit has passed, and not later")
  func limit() async throws {
    let error = await #expect(throws: APICallError.self) {
      try await calls([APICallError](repeating: Self.refused, count: 1000), retry(limit: .seconds(30)))
    }
    #expect(error?.isUnavailable == true)
    #expect(clock.now() == MonotonicInstant(nanoseconds: 30_000_000_000))
  }

  @Test("without a limit there is no second call, and nothing to tell")
  func none() async throws {
    await #expect(throws: APICallError.self) { try await calls([Self.refused], retry(limit: .zero)) }
    #expect(begun.count == 0)
  }

  @Test("a Retry-After is kept, within the limit")
  func retryAfter() async throws {
    let busy = APICallError.problem(Problem(.tooManyRequests, retryAfterSeconds: 20))
    #expect(try await calls([busy], retry()) == 2)
    let told = MonotonicInstant(nanoseconds: 20_000_000_000)
    #expect(clock.now() >= told && clock.now() <= told + .seconds(2))
    let page = APICallError.unexpectedResponse(status: 503, detail: "<html>", retryAfter: .seconds(20))
    let before = clock.now()
    #expect(try await calls([page], retry()) == 2)
    #expect(clock.now() - before >= .seconds(20))
  }

  @Test(
    "a Retry-After beyond the limit ends the call at once: nothing is asked before the time that was told")
  func retryAfterBeyondLimit() async throws {
    let busy = APICallError.problem(Problem(.tooManyRequests, retryAfterSeconds: 20))
    let before = clock.now()
    await #expect(throws: APICallError.self) { try await calls([busy], retry(limit: .seconds(5))) }
    #expect(clock.now() == before)
  }

  @Test(
    "a refusal is an answer",
    arguments: [
      APICallError.problem(Problem(.stateConflict)), .problem(Problem(.internalError)),
      .unreachable(HTTPClientError(code: .invalidRequest, message: "no URL")),
      .unexpectedResponse(status: 404, detail: "a page"),
    ])
  func refusals(error: APICallError) async throws {
    await #expect(throws: APICallError.self) { try await calls([error], retry()) }
    #expect(begun.count == 0)
  }
}
