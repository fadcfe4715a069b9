import CoreTypes
import HTTPClient
import ServiceRuntime
import Synchronization

extension ObjectStore {
  /// 100 ms, doubled up to 5 s, of which chance takes up to half.
  private static let backoff = Backoff(initial: .milliseconds(100), cap: .seconds(5))

  /// Runs `body`, which gets the time that is left, until it succeeds, fails for good, or `limit` is over.
  func retry<Value: Sendable>(
    within limit: Duration, _ body: (Duration) async throws(TryFailure) -> Value
  ) async throws(ObjectStoreError) -> Value {
    let begin = clock.now()
    var failures = 0
    var hasTakenOnDate = false
    while true {
      let remaining = limit - (clock.now() - begin)
      guard remaining > .zero else {
        throw ObjectStoreError(code: .timedOut, message: "the time for the call is over")
      }
      let failure: TryFailure
      // Others may be read from their file while the try is under way.
      let secrets = credentials.locked { $0.secrets }
      do throws(TryFailure) {
        return try await body(remaining)
      } catch {
        failure = error.withholding(secrets + credentials.locked { $0.secrets })
      }
      if !hasTakenOnDate, let date = failure.dateToTakeOn(at: time.now()) {
        hasTakenOnDate = true
        time.takeOn(date)
        continue
      }
      guard failure.isTransient else { throw failure.error }
      failures += 1
      let pause = max(Self.backoff.delay(afterFailures: failures), failure.retryAfter ?? .zero)
      guard pause < limit - (clock.now() - begin) else {
        throw failures > 1 ? failure.error.appending(", after \(failures) tries") : failure.error
      }
      do {
        try await clock.sleep(for: pause)
      } catch {
        throw ObjectStoreError(code: .cancelled, message: "cancelled", cause: failure.error)
      }
    }
  }

  /// Sends one try, and returns a success with its whole body.
  func send(_ call: StoreCall, within remaining: Duration) async throws(TryFailure) -> ClientResponse {
    let receiver = AnswerReceiver()
    do throws(HTTPClientError) {
      let summary = try await client.stream(request(for: call, within: remaining), to: receiver)
      return ClientResponse(head: summary.head, body: receiver.body)
    } catch {
      throw TryFailure(error, method: call.method)
    }
  }
}

/// Keeps the body of a success, which the call's own bound limits; those of refusals come with the transfer's error.
private final class AnswerReceiver: TransferReceiver {
  /// The bytes, appended on the client's thread.
  private let collected = Mutex<[UInt8]>([])

  /// The bytes so far.
  var body: [UInt8] { collected.locked { $0 } }

  func receive(head: ResponseHead) -> HeadDecision {
    (200..<300).contains(head.status) ? .accept : .refuse
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    collected.locked { collected in
      unsafe bytes.withUnsafeBufferPointer { unsafe collected.append(contentsOf: $0) }
    }
    return .consumed
  }
}
