import COpenSSL
import CoreTypes

extension CMSMessage {
  /// Checks who signed. Only after ``checkSignature()``. Throws ``ReceiptError``: `digestTooWeak`, `chainInvalid`,
  /// `markerMissing`.
  func checkSigner(trusting roots: [Certificate], at moment: Timestamp, policy: ReceiptPolicy) throws {
    let embedded = try certificates()
    let store = try TrustStore.trusting(
      roots, at: moment, authenticationLevel: policy.authenticationLevel)
    let chain = try unsafe withSigner { leaf, digest in
      guard Self.strongDigests.contains(digest) || (policy.acceptsSHA1 && digest == NID_sha1) else {
        throw ReceiptError(.digestTooWeak, "the signature uses a digest that no longer counts")
      }
      return try unsafe store.chain(from: leaf, among: embedded)
    }
    guard chain.count == 3, let leaf = unsafe chain[0], let intermediate = unsafe chain[1] else {
      throw ReceiptError(.chainInvalid, "the chain has \(chain.count) certificates, not 3")
    }
    guard unsafe X509Extension.isPresent(policy.leafMarker, in: leaf),
      unsafe X509Extension.isPresent(policy.intermediateMarker, in: intermediate)
    else {
      throw ReceiptError(.markerMissing, "the signing certificate was not issued for receipts")
    }
    guard unsafe namesIssuerExactly(of: leaf) else {
      throw ReceiptError(.chainInvalid, "the receipt names another issuer than its certificate's")
    }
    // A certificate that takes no part in the proof would be bytes that nothing vouches for.
    for index in 0..<embedded.count {
      guard let certificate = unsafe embedded[index], unsafe chain.contains(certificate) else {
        throw ReceiptError(.chainInvalid, "the receipt holds a certificate outside the chain")
      }
    }
  }

  private static let strongDigests: Set<Int32> = [NID_sha256, NID_sha384, NID_sha512]
}
