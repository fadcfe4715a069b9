import Commerce
import CoreTypes
import Crypto

@testable import Receipts

/// App receipts as customers hand them in: what is read without libcrypto is what libcrypto reads of the same bytes, and without a root
/// nothing is genuine.
enum ReceiptProperties {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_900_000_000_000)

  static func check(_ bytes: [UInt8]) -> String? {
    let plain = try? SignedDataValidator.content(of: bytes)
    if let plain {
      guard let theirs = try? CMSMessage.parse(bytes).content() else { return nil }
      if theirs != plain { return "the content is another one than libcrypto's" }
    }
    guard let receipt = try? UnverifiedAppReceipt(encoded: bytes) else { return nil }
    guard let again = try? UnverifiedAppReceipt(base64: receipt.base64), again == receipt else {
      return "a receipt is read otherwise from base 64"
    }
    if (try? receipt.verified(trusting: [], now: now)) != nil { return "genuine without a root" }
    return "\(receipt)".utf8.count > 1024 ? "a description of \("\(receipt)".utf8.count) bytes" : nil
  }
}
