import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Receipts
import RouteAccess
import ServiceAPI

/// The evidence in a request that it comes from a grant's device: knowing the grant's name proves nothing.
/// ``check(for:at:)`` is pure; the clock is the caller's.
///
///     let credential = GrantCredential(request, path: "/v1/grants/\(id)/tickets")
///     try credential.check(for: grant, at: clock.now())
///
/// docs/delivery.md ("Who may renew") has the two kinds of evidence and the refusals.
package struct GrantCredential: Sendable {
  /// The evidence as the request brought it, before anything of it was checked.
  enum Evidence: Hashable, Sendable {
    /// The request has no `Authorization` of either kind.
    case nothing
    /// A compact JWS over a ``DeviceProof``, not verified yet.
    case deviceProof(String)
    /// A bearer token as it came. It may be any text.
    case renewalSecret(String)
  }

  /// A longer proof is not read.
  static let maximumProofLength = 2048

  /// The device's signature where the request has one, else its bearer token.
  var evidence: Evidence
  /// The request's method, as a ``DeviceProof`` names it.
  var method: String
  /// The grant's address, from `/v1/grants/` on.
  var path: String

  /// Throws `proof-missing` or `renewal-secret-missing` where the grant's own kind of evidence is not there,
  /// `receipt-needed` for a grant without a key to which no secret was handed out, `proof-refused` for evidence of that
  /// kind which is not right, and `clock-skew` for a genuine proof of another time.
  ///
  /// A grant with a device key takes a signature alone, and one without a key takes a secret alone. The signed
  /// path may be longer at its beginning, and its time may differ from `now` by ``DeviceProof/tolerance``.
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

  /// The same for a grant that carries no key; one that does passes. The latest secret and the one before it
  /// are right. They are compared by their SHA-256. Throws `receipt-needed`, `renewal-secret-missing` or
  /// `proof-refused`.
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
  /// Creates the credential of a request to the grant's address `path`. Reads the `Authorization` field alone;
  /// nothing is verified here.
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
