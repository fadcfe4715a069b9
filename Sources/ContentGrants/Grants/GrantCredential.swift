import CoreTypes
import Crypto
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Receipts
import RouteAccess

/// The evidence in a request that it comes from a grant's device: knowing the grant's name proves nothing.
/// ``check(for:at:)`` is pure; the clock is the caller's.
///
///     let credential = GrantCredential(request, path: "/v1/grants/\(id)/tickets")
///     try credential.check(for: grant, at: clock.now())
package struct GrantCredential: Sendable {
  enum Evidence: Hashable, Sendable {
    case nothing
    /// A compact JWS over a ``DeviceProof``, not verified yet.
    case deviceProof(String)
    case renewalSecret(String)
  }

  /// A longer proof is not read.
  static let maximumProofLength = 2048

  var evidence: Evidence
  var method: String
  /// The grant's address, from `/v1/grants/` on.
  var path: String

  /// Throws `proof-missing` or `renewal-secret-missing` where the grant's own kind of evidence is not there,
  /// `receipt-needed` for a grant without a key to which no secret was handed out, `proof-refused` for evidence of that
  /// kind which is not right, and `clock-skew` for a genuine proof of another time.
  func check(for grant: GrantRecord, at now: Timestamp) throws(Problem) {
    guard let key = grant.publicKey else { return try checkSecret(for: grant) }
    guard case .deviceProof(let text) = evidence else {
      throw Problem(
        .proofMissing,
        "sign method, path and time with the device's key: Authorization: \(DeviceProof.scheme) …")
    }
    guard let signature = try? JSONWebSignature(text: text, maximumLength: Self.maximumProofLength),
      let payload = try? signature.payload(verifiedWith: key)
    else { throw Problem(.proofRefused, "this is no signature by the device's key") }
    guard let proof = try? APIJSON.decode(DeviceProof.self, from: payload) else {
      throw Problem(.proofRefused, "what is signed is not method, path and iat")
    }
    // A proxy may have taken the beginning of the path away. The rest begins with a slash and holds the grant's name.
    guard proof.method == method, proof.path.hasSuffix(path) else {
      throw Problem(.proofRefused, "what is signed is another request")
    }
    let tolerance = DeviceProof.tolerance.components.seconds
    let server = now.secondsSinceEpoch
    guard (server - tolerance...server + tolerance).contains(proof.iat) else {
      throw Problem(
        .clockSkew, "the signed time may differ from the server's by \(tolerance) seconds", serverTime: now)
    }
  }

  /// The same for a grant that carries no key; one that does passes.
  func checkSecret(for grant: GrantRecord) throws(Problem) {
    guard grant.publicKey == nil else { return }
    guard let digest = grant.renewalDigest else {
      throw Problem(
        .receiptNeeded, "ask for the grant again with the receipt: the answer has a renewalSecret")
    }
    guard case .renewalSecret(let secret) = evidence else {
      throw Problem(.renewalSecretMissing, "send the grant's renewalSecret as Authorization: Bearer …")
    }
    let isRight = [digest, grant.previousRenewalDigest].contains { digest in
      digest.map { SecretDigest(digest: $0).matches(secret) } ?? false
    }
    guard isRight else {
      throw Problem(
        .proofRefused, "this is not the grant's renewalSecret; two later ones may have replaced it")
    }
  }
}

extension GrantCredential {
  /// Creates the credential of a request to the grant's address `path`.
  init(_ request: HTTPRequest, path: String) {
    method = request.method.rawValue
    self.path = path
    if let proof = request.credential(scheme: DeviceProof.scheme) {
      evidence = .deviceProof(proof)
    } else if let secret = request.bearerToken {
      evidence = .renewalSecret(secret)
    } else {
      evidence = .nothing
    }
  }
}
