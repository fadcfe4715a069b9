/// The `status` of an answer of `verifyReceipt`. Unknown values survive.
public struct VerifyReceiptStatus: RawRepresentable, Hashable, Sendable, Codable {
  /// The number in the answer.
  public let rawValue: Int

  /// Creates a status of any number, so that unknown ones survive.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// The receipt is valid; a subscription in it may have ended all the same.
  public static let valid = VerifyReceiptStatus(rawValue: 0)
  /// The request was not made with POST.
  public static let notPost = VerifyReceiptStatus(rawValue: 21000)
  /// The receipt is malformed, or the service has a moment of weakness.
  public static let malformed = VerifyReceiptStatus(rawValue: 21002)
  /// The receipt is not authentic.
  public static let notAuthentic = VerifyReceiptStatus(rawValue: 21003)
  /// The request's password is not the account's.
  public static let sharedSecretMismatch = VerifyReceiptStatus(rawValue: 21004)
  /// The receipt server cannot answer now.
  public static let temporarilyUnavailable = VerifyReceiptStatus(rawValue: 21005)
  /// A valid old-style receipt of a subscription that has ended; the answer holds it.
  public static let subscriptionExpired = VerifyReceiptStatus(rawValue: 21006)
  /// The receipt is from the sandbox and was put to production.
  public static let sandboxReceipt = VerifyReceiptStatus(rawValue: 21007)
  /// The receipt is from production and was put to the sandbox.
  public static let productionReceipt = VerifyReceiptStatus(rawValue: 21008)
  /// The store failed.
  public static let internalError = VerifyReceiptStatus(rawValue: 21009)
  /// The customer's account is not found, or was deleted.
  public static let accountUnknown = VerifyReceiptStatus(rawValue: 21010)
  /// The store failed to read its data; the answer's `is-retryable` says whether to ask again.
  public static let dataAccessErrors = 21100...21199

  /// Whether the store says of itself that it failed. Any other status is an answer, which the receipt or the
  /// request may have provoked.
  public var isStoreFailure: Bool {
    self == .temporarilyUnavailable || self == .internalError || Self.dataAccessErrors.contains(rawValue)
  }
}

extension VerifyReceiptStatus {
  /// The step that an answer with this status calls for.
  enum Meaning {
    /// The answer holds the store's word on the receipt.
    case decided
    case notAuthentic
    /// The customer's account is gone: as if nothing was ever bought.
    case nothingOwned
    /// To be put to the sandbox, if the policy lets sandbox receipts count.
    case belongsToSandbox
    case belongsToProduction
    /// Ask again at once, a few times.
    case retry
    /// Our request was wrong, or the store is: says nothing about the receipt, and asking again now will not help.
    case unusable
  }

  /// - Parameter isRetryable: the answer's own word, which counts for 21100 to 21199.
  func meaning(isRetryable: Bool?) -> Meaning {
    switch self {
    case .valid, .subscriptionExpired: .decided
    case .malformed, .temporarilyUnavailable, .internalError: .retry
    case .notAuthentic: .notAuthentic
    case .sandboxReceipt: .belongsToSandbox
    case .productionReceipt: .belongsToProduction
    case .accountUnknown: .nothingOwned
    case _ where Self.dataAccessErrors.contains(rawValue): isRetryable == false ? .unusable : .retry
    default: .unusable
    }
  }
}
