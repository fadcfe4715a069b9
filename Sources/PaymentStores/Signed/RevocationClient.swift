import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import Receipts
import ServiceRuntime
import Synchronization

/// Asks the issuers of a chain whether they still stand by it (RFC 6960). That they do is believed for a quarter of an
/// hour; anything else is asked again.
final class RevocationClient: Sendable {
  /// How long an issuer's word is believed, at most.
  package static let lifetime: Duration = .seconds(900)
  /// Certificates whose issuers' word is kept.
  private static let maximumCount = 64
  private static let timeout: Duration = .seconds(10)

  private let client: HTTPClient
  private let clock: any WallClock
  private let timer: any MonotonicClock
  private let good = Mutex<[SHA256Digest: MonotonicInstant]>([:])
  private let questions = SharedQuestions<SHA256Digest, RevocationVerdict>()

  package init(client: HTTPClient, clock: any WallClock, timer: any MonotonicClock) {
    self.client = client
    self.clock = clock
    self.timer = timer
  }

  /// Returns when both certificates below the root count. Throws the refusal: not authentic, or undetermined, which
  /// says nothing of the store.
  package func check(_ chain: SignedDataChain) async throws(StoreRefusal) {
    let checks: [RevocationCheck]
    do {
      checks = try chain.revocationChecks()
    } catch {
      throw .final(.receiptNotAuthentic, "\(error)", onStoresWord: false)
    }
    for check in checks { try await self.check(check) }
  }

  /// Asks the issuer about one certificate, unless its word is still believed.
  private func check(_ check: RevocationCheck) async throws(StoreRefusal) {
    let digest = SHA256Digest.of(check.certificate.der)
    let now = timer.now()
    if let end = good.locked({ $0[digest] }), now < end { return }
    let verdict: RevocationVerdict
    do {
      verdict = try await questions.answer(to: digest) { [self] in try await ask(check) }.answer
    } catch is CancellationError {
      throw .abandoned
    } catch {
      throw Self.undetermined("\(error)")
    }
    switch verdict {
    case .good(let until):
      keep(digest, from: now, for: min(Self.lifetime, until - clock.now()))
    case .revoked:
      throw .final(.receiptNotAuthentic, "a certificate of the signature was revoked", onStoresWord: false)
    case .undetermined(let reason):
      throw Self.undetermined(reason)
    }
  }

  private func ask(_ check: RevocationCheck) async throws -> RevocationVerdict {
    var request = ClientRequest(
      method: "POST", url: check.responder, headers: [("Content-Type", "application/ocsp-request")],
      body: .bytes(try check.request()))
    request.totalTimeout = Self.timeout
    request.maximumResponseLength = .kibibytes(64)
    let response = try await client.send(request)
    guard response.status == 200 else {
      return .undetermined("the responder answers with status \(response.status)")
    }
    return try check.verdict(of: response.body, at: clock.now())
  }

  /// Keeps the issuer's word; where there is no room, it is asked again each time.
  private func keep(_ digest: SHA256Digest, from now: MonotonicInstant, for duration: Duration) {
    good.locked { good in
      if good.count >= Self.maximumCount { good = good.filter { now < $0.value } }
      guard good.count < Self.maximumCount else { return }
      good[digest] = now + duration
    }
  }

  private static func undetermined(_ cause: String) -> StoreRefusal {
    .undetermined(retryAfter: .seconds(30), cause: cause, outcome: .abandoned)
  }
}
