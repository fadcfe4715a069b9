public import Commerce
public import Crypto

/// A purchase token as an application shows it: 1 to 1,500 characters of `A-Z a-z 0-9 . _ - ~`, so that it is one segment of
/// a path.
public struct GooglePurchaseToken: Hashable, Sendable {
  /// It works like a key: it proves the purchase.
  public let text: String

  /// Characters of a token, at most.
  public static let maximumLength = 1500

  /// Nil when `text` is no such token.
  public init?(_ text: String) {
    guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.first != 0x2E,
      text.utf8.allSatisfy({ byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
      })
    else { return nil }
    self.text = text
  }

  /// The SHA-256 of the text, which proves nothing.
  public var digest: SHA256Digest { SHA256Digest.of(Array(text.utf8)) }
}

extension GooglePurchaseToken: CustomStringConvertible {
  /// The length alone: the token works like a key.
  public var description: String { "purchase token of \(text.utf8.count) characters" }
}

/// An order as Google Play numbers them: `GPA.3345-1234-5678-90123`, with `..0`, `..1` behind it for the renewals of a
/// subscription.
public struct GoogleOrder: Hashable, Sendable {
  /// The order.
  public let id: TransactionIdentifier
  /// The first order of the purchase: the same without the number of the renewal.
  public let original: TransactionIdentifier

  /// Nil when `text` can name no transaction.
  public init?(_ text: String) {
    guard let id = TransactionIdentifier(text) else { return nil }
    self.id = id
    let digits = text.reversed().prefix { $0.isASCII && $0.isNumber }.count
    let head = text.dropLast(digits)
    guard digits > 0, head.hasSuffix(".."), let original = TransactionIdentifier(String(head.dropLast(2)))
    else {
      self.original = id
      return
    }
    self.original = original
  }
}

/// The kind of purchase that a purchase token proves.
public enum GooglePurchaseKind: String, Sendable {
  /// A one-time purchase.
  case product
  /// A subscription.
  case subscription
}

/// The arguments of a call about the delivery of a purchase, as the `reference` of an ``Acknowledgement``.
public struct GooglePurchaseReference: Hashable, Sendable {
  /// The kind of the purchase.
  public let kind: GooglePurchaseKind
  /// The product that was bought.
  public let product: ProductIdentifier
  /// The token that proves the purchase.
  public let token: GooglePurchaseToken

  init(kind: GooglePurchaseKind, product: ProductIdentifier, token: GooglePurchaseToken) {
    self.kind = kind
    self.product = product
    self.token = token
  }

  /// Nil unless `text` is what ``text`` was.
  public init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let kind = GooglePurchaseKind(rawValue: String(parts[0])),
      let product = ProductIdentifier(String(parts[1])), let token = GooglePurchaseToken(String(parts[2]))
    else { return nil }
    self.init(kind: kind, product: product, token: token)
  }

  /// The three, with spaces between. Secret, as the token is.
  public var text: String { "\(kind.rawValue) \(product) \(token.text)" }
}

extension GooglePurchaseReference: CustomStringConvertible {
  /// Without the token.
  public var description: String { "\(kind.rawValue) \(product)" }
}

/// A one-time purchase as `purchases.productsv2.getproductpurchasev2` tells it. Every member may be missing; words with a fixed
/// meaning are kept as they were written.
public struct GoogleProductPurchase: Decodable, Sendable {
  /// One product of the purchase.
  public struct Item: Decodable, Sendable {
    /// The product that was bought.
    public var productId: String?
    /// The offer that it was bought under.
    public var productOfferDetails: Offer?

    /// Whether all of the item was refunded.
    public var isTakenBack: Bool { productOfferDetails?.refundableQuantity == 0 }

    /// The numbers of the item.
    public struct Offer: Decodable, Sendable {
      /// How many; 1 unless given.
      public var quantity: Int?
      /// How many of them were not refunded; all of them unless given.
      public var refundableQuantity: Int?
      /// `CONSUMPTION_STATE_YET_TO_BE_CONSUMED`, `CONSUMPTION_STATE_CONSUMED`.
      public var consumptionState: String?
    }
  }

  struct StateContext: Decodable {
    var purchaseState: String?
  }

  struct Test: Decodable {
    var fopType: String?
  }

  /// The products that were bought, at least one.
  public var productLineItem: [Item]?
  var purchaseStateContext: StateContext?
  /// `ACKNOWLEDGEMENT_STATE_PENDING`, `ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED`.
  public var acknowledgementState: String?
  /// When it was paid for.
  public var purchaseCompletionTime: String?
  /// The order; missing for what was given away by a code.
  public var orderId: String?
  var testPurchaseContext: Test?
  /// The customer that the application bought it for.
  public var obfuscatedExternalAccountId: String?
  /// Where it was sold, by ISO 3166-1 alpha-2.
  public var regionCode: String?

  /// Bytes of an answer, at most.
  public static let maximumLength = 262_144
  /// Products of one purchase that are read.
  static let maximumItems = 50

  /// Throws ``ReceiptError`` `malformed`.
  public init(response: [UInt8]) throws {
    self = try GoogleDocument.decode(
      Self.self, from: response, upTo: Self.maximumLength, "answer about a purchase")
  }

  /// How a purchase stands.
  public enum State: Hashable, Sendable {
    /// Paid for.
    case purchased
    /// Taken back.
    case cancelled
    /// Not paid for yet, or in a state that this version does not know: it never counts.
    case pending
  }

  /// How it stands.
  public var state: State {
    switch purchaseStateContext?.purchaseState {
    case "PURCHASED": .purchased
    case "CANCELLED": .cancelled
    default: .pending
    }
  }

  /// A license tester's purchases cost nothing.
  public var environment: StoreEnvironment { testPurchaseContext == nil ? .production : .sandbox }

  /// Whether the store was told that it is delivered.
  public var isAcknowledged: Bool { acknowledgementState == GoogleAcknowledgement.done }

  /// Whether all of it was taken back, as a whole or item by item.
  public var isTakenBack: Bool {
    state == .cancelled
      || (productLineItem ?? []).allSatisfy(\.isTakenBack) && productLineItem?.isEmpty == false
  }

  /// Whether the store was told that all of it is used up.
  public var isConsumed: Bool {
    productLineItem?.allSatisfy { $0.productOfferDetails?.consumptionState == "CONSUMPTION_STATE_CONSUMED" }
      ?? false
  }
}

/// A subscription as `purchases.subscriptionsv2.get` tells it. It is read like a ``GoogleProductPurchase``.
public struct GoogleSubscriptionPurchase: Decodable, Sendable {
  /// One product of the subscription.
  public struct Item: Decodable, Sendable {
    /// The product that is subscribed to.
    public var productId: String?
    /// The end of what is paid for, or of the grace after it.
    public var expiryTime: String?
    /// The last order that was paid for.
    public var latestSuccessfulOrderId: String?
  }

  struct ExternalAccounts: Decodable {
    var obfuscatedExternalAccountId: String?
  }

  struct Test: Decodable {}

  /// `SUBSCRIPTION_STATE_ACTIVE` and others.
  public var subscriptionState: String?
  /// The products that are subscribed to, at least one.
  public var lineItems: [Item]?
  /// When the subscription began.
  public var startTime: String?
  /// The state of the acknowledgement, with the values of ``GoogleProductPurchase/acknowledgementState``.
  public var acknowledgementState: String?
  /// The token whose place this one took.
  public var linkedPurchaseToken: String?
  /// The last order of one that was bought before items had orders.
  public var latestOrderId: String?
  var externalAccountIdentifiers: ExternalAccounts?
  var testPurchase: Test?
  /// The country or region of the sale, like ``GoogleProductPurchase/regionCode``.
  public var regionCode: String?

  /// Throws ``ReceiptError`` `malformed`.
  public init(response: [UInt8]) throws {
    self = try GoogleDocument.decode(
      Self.self, from: response, upTo: GoogleProductPurchase.maximumLength, "answer about a subscription")
  }

  /// How it stands, as far as it matters what it opens.
  public enum State: Hashable, Sendable {
    /// Paid for up to its expiry, also where it is cancelled or over.
    case paid
    /// A renewal was not paid for, and its time was prolonged meanwhile.
    case inGrace
    /// Held for a payment, or paused by the customer: nothing is paid for from now on, whatever expiry is told.
    case suspended
    /// Nothing is paid for, and nothing was: it never counts.
    case pending
  }

  /// How it stands. One that is cancelled opens what it opens up to its expiry.
  public var state: State {
    switch subscriptionState {
    case "SUBSCRIPTION_STATE_IN_GRACE_PERIOD": .inGrace
    case "SUBSCRIPTION_STATE_ACTIVE", "SUBSCRIPTION_STATE_CANCELED", "SUBSCRIPTION_STATE_EXPIRED": .paid
    case "SUBSCRIPTION_STATE_ON_HOLD", "SUBSCRIPTION_STATE_PAUSED": .suspended
    default: .pending
    }
  }

  /// Whether its time is over, also because it was taken back: the store takes no acknowledgement of it then.
  public var hasExpired: Bool { subscriptionState == "SUBSCRIPTION_STATE_EXPIRED" }

  /// The environment of the purchase, like ``GoogleProductPurchase/environment``.
  public var environment: StoreEnvironment { testPurchase == nil ? .production : .sandbox }

  /// Whether the store was told of the delivery, like ``GoogleProductPurchase/isAcknowledged``.
  public var isAcknowledged: Bool { acknowledgementState == GoogleAcknowledgement.done }
}
