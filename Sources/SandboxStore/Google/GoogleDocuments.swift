import Commerce
import CoreTypes

/// The answers of the Google-like interface: the members of the Android Publisher API that the store has
/// values for.
enum GoogleDocuments {
  struct Empty: Encodable {}

  struct ProductPurchase: Encodable {
    struct Item: Encodable {
      struct Offer: Encodable {
        var quantity: Int
        var refundableQuantity: Int
        var consumptionState: String
      }
      var productId: String
      var productOfferDetails: Offer
    }
    struct State: Encodable { var purchaseState: String }
    struct Test: Encodable { var fopType = "TEST" }

    var kind = "androidpublisher#productPurchaseV2"
    var productLineItem: [Item]
    var purchaseStateContext: State
    var acknowledgementState: String
    var purchaseCompletionTime: Timestamp?
    var orderId: String
    var testPurchaseContext: Test?
    var obfuscatedExternalAccountId: String?
    var regionCode: String?
  }

  /// The first version of ``ProductPurchase``, which counts where that one names.
  struct FirstProductPurchase: Encodable {
    var kind = "androidpublisher#productPurchase"
    var purchaseTimeMillis: String
    var purchaseState: Int
    var consumptionState: Int
    var acknowledgementState: Int
    var developerPayload = ""
    var orderId: String
    var productId: String
    var purchaseToken: String
    var quantity: Int
    var purchaseType: Int?
    var obfuscatedExternalAccountId: String?
    var regionCode: String?
  }

  struct Money: Encodable {
    var currencyCode: String
    var units: String
    var nanos: Int

    init?(_ price: Price?) {
      guard let price else { return nil }
      let thousandths = Optional(price).thousandths
      currencyCode = price.currency
      units = String(thousandths / 1000)
      nanos = Int(thousandths % 1000) * 1_000_000
    }
  }

  struct SubscriptionPurchase: Encodable {
    struct Plan: Encodable {
      var autoRenewEnabled: Bool
      var recurringPrice: Money?
    }
    struct Offer: Encodable { var basePlanId: String }
    struct Item: Encodable {
      var productId: String
      var expiryTime: Timestamp?
      var latestSuccessfulOrderId: String?
      var autoRenewingPlan: Plan?
      var offerDetails: Offer?
    }
    struct Accounts: Encodable { var obfuscatedExternalAccountId: String }
    struct Paused: Encodable { var autoResumeTime: Timestamp? }
    struct Cancelled: Encodable {
      var userInitiatedCancellation: Empty?
      var systemInitiatedCancellation: Empty?
      var replacementCancellation: Empty?
    }

    var kind = "androidpublisher#subscriptionPurchaseV2"
    var subscriptionState: String
    var lineItems: [Item]
    var startTime: Timestamp?
    var acknowledgementState: String
    var linkedPurchaseToken: String?
    var canceledStateContext: Cancelled?
    var pausedStateContext: Paused?
    var externalAccountIdentifiers: Accounts?
    var testPurchase: Empty?
    var regionCode: String?
  }

  struct VoidedPurchase: Encodable {
    var kind = "androidpublisher#voidedPurchase"
    var purchaseToken: String
    var orderId: String
    var purchaseTimeMillis: String
    var voidedTimeMillis: String
    var voidedSource: Int
    var voidedReason: Int
  }

  struct VoidedPurchases: Encodable {
    struct Pagination: Encodable { var nextPageToken: String }

    var voidedPurchases: [VoidedPurchase]
    var tokenPagination: Pagination?
  }

  struct Order: Encodable {
    var orderId: String
    var purchaseToken: String
    var state: String
    var createTime: Timestamp
    var total: Money?
  }

  struct Orders: Encodable { var orders: [Order] }

  /// A request that puts off a subscription's end (`purchases.subscriptions.defer`), in milliseconds.
  struct Deferral: Decodable {
    struct Info: Decodable {
      var expectedExpiryTimeMillis: String
      var desiredExpiryTimeMillis: String
    }
    var deferralInfo: Info
  }

  struct Deferred: Encodable { var newExpiryTimeMillis: String }
}

/// A refusal, as Google's interfaces write one.
struct GoogleError: Error, Hashable, Sendable {
  let status: Int
  let name: String
  let reason: String
  let message: String

  static let unauthenticated = GoogleError(
    status: 401, name: "UNAUTHENTICATED", reason: "authError",
    message: "Request had invalid authentication credentials. Expected OAuth 2 access token.")
  static let packageUnknown = GoogleError(
    status: 404, name: "NOT_FOUND", reason: "applicationNotFound",
    message: "No application was found for the given package name.")
  static let tokenUnknown = GoogleError(
    status: 404, name: "NOT_FOUND", reason: "purchaseTokenNotFound",
    message: "The purchase token was not found.")
  static let tokenMismatch = GoogleError(
    status: 400, name: "INVALID_ARGUMENT", reason: "purchaseTokenDoesNotMatchProductId",
    message: "The purchase token does not match the product ID.")
  static let kindMismatch = GoogleError(
    status: 400, name: "INVALID_ARGUMENT", reason: "invalid", message: "Invalid Value")
  static let orderUnknown = GoogleError(
    status: 404, name: "NOT_FOUND", reason: "orderNotFound", message: "The order was not found.")
  static let notOwned = GoogleError(
    status: 400, name: "FAILED_PRECONDITION", reason: "productNotOwnedByUser",
    message: "The product purchase is not owned by the user.")
  static let internalError = GoogleError(
    status: 500, name: "INTERNAL", reason: "backendError", message: "Internal error encountered.")

  static func invalid(_ name: String) -> GoogleError {
    GoogleError(
      status: 400, name: "INVALID_ARGUMENT", reason: "invalid", message: "Invalid value for \(name).")
  }

  struct Body: Encodable {
    struct Cause: Encodable {
      var message: String
      var domain = "global"
      var reason: String
    }
    struct Content: Encodable {
      var code: Int
      var message: String
      var status: String
      var errors: [Cause]
    }
    var error: Content
  }

  var body: Body {
    Body(
      error: .init(
        code: status, message: message, status: name, errors: [.init(message: message, reason: reason)]))
  }
}
