import Commerce
import CoreTypes
import Crypto

@testable import Receipts

/// Signed data in compact form: what is read has one spelling, and without a root nothing is genuine.
enum SignedDataProperties {
  private static let verifier = SignedDataVerifier(roots: [], timer: SystemMonotonicClock())
  private static let moment = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  static func check(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let data = try? SignedData(text: text) else { return nil }
    let segments = text.split(separator: ".", omittingEmptySubsequences: false)
    guard segments.count == 3, Base64.encode(data.claims, .url) == segments[1],
      Base64.encode(data.signature, .url) == segments[2]
    else { return "one payload or signature in two spellings" }
    guard data.digests.signed == SHA256Digest.of("\(segments[0]).\(segments[1])".utf8),
      data.digests.header == SHA256Digest.of(segments[0].utf8)
    else {
      return "another text is verified than was read"
    }
    _ = try? data.claimedDate()
    _ = try? data.claimed(as: SignedTransaction.self).vouched(by: .apple)
    _ = try? data.claimed(as: SignedNotification.self)
    _ = try? data.claimed(as: SignedRenewalInfo.self)
    return (try? verifier.verify(data, at: moment)) == nil ? nil : "genuine without a root"
  }
}
