import CoreTypes
import HTTPServer
import PullboxAPIServer

/// A refusal of the App Store Server API: a code whose first three digits are the status, and its message, both as Apple
/// documents them.
struct ServerAPIError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Seven digits.
  let code: Int
  let message: String
  /// When to ask again, for a request too many.
  var retryAfter: Timestamp?

  init(_ code: Int, _ message: String) {
    self.code = code
    self.message = message
  }

  var description: String { "\(code): \(message)" }

  private struct Body: Encodable {
    var errorCode: Int
    var errorMessage: String
  }

  /// Clients compare the content type as a whole: it has no parameters. `Retry-After` is a date in milliseconds since the
  /// epoch.
  func response() throws -> HTTPResponse {
    var response = try HTTPResponse.json(
      Body(errorCode: code, errorMessage: message), status: HTTPStatus(rawValue: code / 10_000))
    if let retryAfter { response.headers["Retry-After"] = String(retryAfter.millisecondsSinceEpoch) }
    return response
  }
}

extension ServerAPIError {
  static let badRequest = Self(4_000_000, "Bad request.")
  static let invalidRevision = Self(4_000_005, "Invalid request revision.")
  static let invalidTransaction = Self(4_000_006, "Invalid transaction id.")
  static let invalidOriginalTransaction = Self(4_000_008, "Invalid original transaction id.")
  static let invalidExtendByDays = Self(4_000_009, "Invalid extend by days value.")
  static let invalidExtendReasonCode = Self(4_000_010, "Invalid extend reason code.")
  static let invalidRequestIdentifier = Self(4_000_011, "Invalid request identifier.")
  static let startTooFarInPast = Self(
    4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
  static let startAfterEnd = Self(
    4_000_013, "Invalid request. The end date precedes the start date or the dates are the same.")
  static let invalidPaginationToken = Self(4_000_014, "Invalid request. The pagination token is invalid.")
  static let invalidStartDate = Self(
    4_000_015, "Invalid request. The start date is not a timestamp value represented in milliseconds.")
  static let invalidEndDate = Self(
    4_000_016, "Invalid request. The end date is not a timestamp value represented in milliseconds.")
  static let invalidNotificationType = Self(
    4_000_018, "Invalid request. The notification type or subtype is invalid.")
  static let multipleFilters = Self(
    4_000_019, "Invalid request. Supply either a transaction id or a notification type, but not both.")
  static let invalidTestToken = Self(4_000_020, "Invalid request. The test notification token is invalid.")
  static let invalidSort = Self(4_000_021, "Invalid request. The sort parameter is invalid.")
  static let invalidProductType = Self(4_000_022, "Invalid request. The product type parameter is invalid.")
  static let invalidProduct = Self(4_000_023, "Invalid request. The product id parameter is invalid.")
  static let invalidGroup = Self(
    4_000_024, "Invalid request. The subscription group identifier parameter is invalid.")
  static let invalidExcludeRevoked = Self(
    4_000_025, "Invalid request. The exclude revoked parameter is invalid.")
  static let invalidOwnership = Self(
    4_000_026, "Invalid request. The in-app ownership type parameter is invalid.")
  static let emptyStorefronts = Self(
    4_000_027, "Invalid request. If provided, the list of storefront country codes must not be empty.")
  static let invalidStorefront = Self(4_000_028, "Invalid request. A storefront country code was invalid.")
  static let invalidRevoked = Self(4_000_030, "Invalid request. The revoked parameter is invalid.")
  static let invalidStatus = Self(4_000_031, "Invalid request. The status parameter is invalid.")
  static let unsupportedType = Self(
    4_000_047, "Invalid request. The transaction id represents an unsupported in-app purchase type.")
  static let appTransactionUnsupported = Self(
    4_000_048, "Invalid request. App transaction ids are not supported by this endpoint.")
  static let invalidAccountToken = Self(
    4_000_183, "Invalid request. The app account token is not a valid UUID.")
  static let familyUnsupported = Self(
    4_000_185, "Invalid request. Family Sharing transactions are not supported by this endpoint.")
  static let notOriginalTransaction = Self(
    4_000_187, "Invalid request. The transaction id is not an original transaction id.")
  static let extensionIneligible = Self(
    4_030_004, "Forbidden - subscription state ineligible for extension.")
  static let extensionMaximum = Self(
    4_030_005, "Forbidden - subscription has reached maximum extension count.")
  static let extensionFamily = Self(
    4_030_007,
    "Subscriptions that users obtain through Family Sharing can't get a renewal date extension directly.")
  static let originalTransactionUnknown = Self(4_040_005, "Original transaction id not found.")
  static let noNotificationURL = Self(
    4_040_007,
    "No App Store Server Notification URL found for provided app. Check that a URL is configured in App Store Connect for this environment."
  )
  static let testNotificationUnknown = Self(
    4_040_008,
    "Either the test notification token is expired or the notification and status are not yet available.")
  static let extensionRequestUnknown = Self(
    4_040_009,
    "The server didn't find a subscription-renewal-date extension request for this requestIdentifier and productId combination."
  )
  static let transactionUnknown = Self(4_040_010, "Transaction id not found.")
  /// Thrown with ``retryAfter``.
  static let rateLimit = Self(4_290_000, "Rate limit exceeded.")
  /// The answer to every error that is no refusal.
  static let internalRetryable = Self(5_000_001, "An unknown error occurred. Please try again.")

  /// A field of a report of consumption that cannot be.
  static func consumption(_ field: ConsumptionReport.Field) -> Self {
    Self(field.rawValue, "Invalid request. The \(field.words) field is invalid.")
  }
}
