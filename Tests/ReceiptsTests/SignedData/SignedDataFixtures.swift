import CoreTypes
import PullboxTesting

@testable import Receipts

/// An authority for signed data, and one of the same names that no verifier trusts.
enum SignedDataFixtures {
  static let now = Fixtures.now
  static let options = SignedDataAuthority.Options(responder: "http://127.0.0.1:8090/ocsp", now: now)
  static let authority = Result { try SignedDataAuthority.generate(options) }
  static let stranger = Result { try SignedDataAuthority.generate(options) }
  static let payload = Array(#"{"transactionId":"2000000000000001","environment":"Sandbox"}"#.utf8)

  static func verifier(
    of authority: SignedDataAuthority, timer: any MonotonicClock = SystemMonotonicClock()
  ) -> SignedDataVerifier {
    SignedDataVerifier(roots: [authority.root], timer: timer)
  }
}
