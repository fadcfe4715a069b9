/// The rules that are held against arbitrary bytes that stores and customers send: by `scripts/test` with bytes from a seeded
/// `Mutator`, by `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case google
  case payload
  case receipt
  case verifyReceipt = "verify-receipt"
  case jws
  case notification
  case oauth

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .google: GoogleProperties.check(bytes)
    case .payload: PayloadProperties.check(bytes)
    case .receipt: ReceiptProperties.check(bytes)
    case .verifyReceipt: VerifyReceiptProperties.check(bytes)
    case .jws: SignedDataProperties.check(bytes)
    case .notification: NotificationProperties.check(bytes)
    case .oauth: OAuthProperties.check(bytes)
    }
  }
}
