import Commerce
import CoreTypes
import SandboxRecords

/// The answers of the Google-like interface: the members of the Android Publisher API that the store has
/// values for.
enum GoogleDocuments {
  /// `{}`: a member that says all by being there, and the answer of calls that tell nothing.
  struct Empty: Encodable {}

  /// A one-time purchase (`purchases.productsv2`). The store sells one product at a time, so that there is
  /// one line item.
  struct ProductPurchase: Encodable {
    struct Item: Encodable {
      struct Offer: Encodable {
        var quantity: Int
        /// All of the quantity, and 0 once the purchase was given back.
        var refundableQuantity: Int
        var consumptionState: String
      }
      var productId: String
      var productOfferDetails: Offer
    }
    /// `PURCHASED`, `CANCELLED` or `PENDING`.
    struct State: Encodable { var purchaseState: String }
    /// The mark of a license tester, whose purchases are those of a store that is not in production.
    struct Test: Encodable { var fopType = "TEST" }

    var kind = "androidpublisher#productPurchaseV2"
    var productLineItem: [Item]
    var purchaseStateContext: State
    var acknowledgementState: String
    /// Nil for what was not sold.
    var purchaseCompletionTime: Timestamp?
    var orderId: String
    var testPurchaseContext: Test?
    /// The transaction's `applicationUsername`, as the application gave it.
    var obfuscatedExternalAccountId: String?
    /// ISO 3166 alpha-2.
    var regionCode: String?
  }

  /// The first version of ``ProductPurchase``, which counts where that one names.
  struct FirstProductPurchase: Encodable {
    var kind = "androidpublisher#productPurchase"
    /// When it was sold; before that, when it was asked for.
    var purchaseTimeMillis: String
    /// 0 purchased, 1 cancelled, 2 pending.
    var purchaseState: Int
    /// 0 still to be consumed, 1 consumed.
    var consumptionState: Int
    /// 0 still to be acknowledged, 1 acknowledged.
    var acknowledgementState: Int
    var developerPayload = ""
    var orderId: String
    var productId: String
    var purchaseToken: String
    var quantity: Int
    /// 0 for a license tester; nil in production.
    var purchaseType: Int?
    var obfuscatedExternalAccountId: String?
    var regionCode: String?
  }

  /// `google.type.Money`: whole units as text, and the rest in billionths of a unit.
  struct Money: Encodable {
    var currencyCode: String
    var units: String
    var nanos: Int

    /// The price of `quantity` units. Nil without a price: for what is free, was restored, or was not sold.
    init?(_ price: Price?, times quantity: Int = 1) {
      guard let price else { return nil }
      let thousandths = Int128(Optional(price).thousandths) * Int128(quantity)
      currencyCode = price.currency
      units = String(thousandths / 1000)
      nanos = Int(thousandths % 1000) * 1_000_000
    }
  }

  /// A subscription (`purchases.subscriptionsv2`). It has one line item, that of the latest period.
  struct SubscriptionPurchase: Encodable {
    struct Plan: Encodable {
      var autoRenewEnabled: Bool
      var recurringPrice: Money?
    }
    /// The base plan is the period in lower case, such as `p1m`.
    struct Offer: Encodable { var basePlanId: String }
    struct Item: Encodable {
      var productId: String
      /// When access ends or ended: with the period, with the grace, at a refund, or where another product
      /// took over. Nil while the first payment is not made.
      var expiryTime: Timestamp?
      /// The order of the latest period that was paid for.
      var latestSuccessfulOrderId: String?
      var autoRenewingPlan: Plan?
      var offerDetails: Offer?
    }
    struct Accounts: Encodable { var obfuscatedExternalAccountId: String }
    /// When it goes on by itself.
    struct Paused: Encodable { var autoResumeTime: Timestamp? }
    /// One of the three members is there: the customer switched renewal off, a refund did, or another product
    /// took over.
    struct Cancelled: Encodable {
      var userInitiatedCancellation: Empty?
      var systemInitiatedCancellation: Empty?
      var replacementCancellation: Empty?
    }

    var kind = "androidpublisher#subscriptionPurchaseV2"
    /// `SUBSCRIPTION_STATE_` and one of the states that docs/sandbox-store.md lists.
    var subscriptionState: String
    var lineItems: [Item]
    var startTime: Timestamp?
    var acknowledgementState: String
    /// The token of the purchase whose place this one took.
    var linkedPurchaseToken: String?
    var canceledStateContext: Cancelled?
    var pausedStateContext: Paused?
    var externalAccountIdentifiers: Accounts?
    var testPurchase: Empty?
    var regionCode: String?
  }

  /// A payment that was given back, by the order of that payment. Times are milliseconds since the epoch.
  struct VoidedPurchase: Encodable {
    var kind = "androidpublisher#voidedPurchase"
    var purchaseToken: String
    var orderId: String
    var purchaseTimeMillis: String
    var voidedTimeMillis: String
    /// 2 where the store gave back what was not acknowledged, else 1, the application's developer.
    var voidedSource: Int
    /// 0 another reason, 8 not acknowledged.
    var voidedReason: Int
  }

  /// A page, the earliest first.
  struct VoidedPurchases: Encodable {
    /// How many the pages so far had. The whole is left out on the last page.
    struct Pagination: Encodable { var nextPageToken: String }

    var voidedPurchases: [VoidedPurchase]
    var tokenPagination: Pagination?
  }

  /// One payment of a purchase.
  struct Order: Encodable {
    var orderId: String
    var purchaseToken: String
    /// `PENDING`, `PROCESSED` or `REFUNDED`.
    var state: String
    var createTime: Timestamp
    /// The sum that the customer paid, for all units of the order; left out for what cost nothing.
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

  /// The end after a deferral, in milliseconds since the epoch.
  struct Deferred: Encodable { var newExpiryTimeMillis: String }
}

/// A refusal, as Google's interfaces write one.
struct GoogleError: Error, Hashable, Sendable {
  /// The status of the answer, and `code` of its body.
  let status: Int
  /// The name of the code (`google.rpc.Code`).
  let name: String
  /// `reason` of the one cause in the body.
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
  /// A one-time purchase was asked about as a subscription, or the other way round.
  static let kindMismatch = GoogleError(
    status: 400, name: "INVALID_ARGUMENT", reason: "invalid", message: "Invalid Value")
  static let orderUnknown = GoogleError(
    status: 404, name: "NOT_FOUND", reason: "orderNotFound", message: "The order was not found.")
  /// The purchase does not count, or not any more: it is pending, over, or given back.
  static let notOwned = GoogleError(
    status: 400, name: "FAILED_PRECONDITION", reason: "productNotOwnedByUser",
    message: "The product purchase is not owned by the user.")
  static let internalError = GoogleError(
    status: 500, name: "INTERNAL", reason: "backendError", message: "Internal error encountered.")

  /// A parameter or member of that name cannot be.
  static func invalid(_ name: String) -> GoogleError {
    GoogleError(
      status: 400, name: "INVALID_ARGUMENT", reason: "invalid", message: "Invalid value for \(name).")
  }

  /// The JSON of a refusal. `errors` has one cause, with the message of the whole.
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
