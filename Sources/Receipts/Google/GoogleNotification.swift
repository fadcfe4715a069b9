public import CoreTypes
import Crypto
import FoundationEssentials

/// A real-time developer notification: that something happened to a purchase, and not what. The state is asked from the store
/// then.
public struct GoogleNotification: Hashable, Sendable {
  /// The subject of a notification.
  public enum Subject: Hashable, Sendable {
    /// A subscription; its kind is `SUBSCRIPTION_…` by number.
    case subscription(GooglePurchaseToken)
    /// A one-time purchase.
    case product(GooglePurchaseToken)
    /// An order that was refunded, of a subscription or not; `isPartial` where only some of a quantity was.
    case voided(GooglePurchaseToken, order: GoogleOrder, isSubscription: Bool, isPartial: Bool)
    /// The operator tries the address out.
    case test
  }

  /// The application.
  public let package: String
  /// When it happened.
  public let date: Timestamp
  /// The kind and its number, such as `subscription.2`.
  public let kind: String
  /// The subject of this notification; nil for a subject that this version does not know.
  public let subject: Subject?

  private struct Document: Decodable {
    struct Purchase: Decodable {
      var notificationType: Int?
      var purchaseToken: String?
    }
    struct Voided: Decodable {
      var purchaseToken: String?
      var orderId: String?
      var productType: Int?
      var refundType: Int?
    }
    struct Test: Decodable {}

    var packageName: String
    var eventTimeMillis: String
    var subscriptionNotification: Purchase?
    var oneTimeProductNotification: Purchase?
    var voidedPurchaseNotification: Voided?
    var testNotification: Test?
  }

  /// Bytes of the data, at most.
  public static let maximumLength = 16_384

  /// Throws ``ReceiptError`` `malformed`, also for one that tells of two things.
  public init(data: [UInt8]) throws {
    let document = try GoogleDocument.decode(
      Document.self, from: data, upTo: Self.maximumLength, "notification")
    guard let milliseconds = Int64(document.eventTimeMillis),
      (0...Timestamp.latestWritable).contains(milliseconds),
      (1...255).contains(document.packageName.utf8.count)
    else { throw ReceiptError.malformed("the notification lacks what every notification has") }
    package = document.packageName
    date = Timestamp(millisecondsSinceEpoch: milliseconds)
    let contents = try Self.contents(of: document)
    guard contents.count <= 1 else {
      throw ReceiptError.malformed("the notification tells of two things")
    }
    kind = contents.first?.kind ?? "unknown"
    subject = contents.first?.subject
  }

  private static func contents(of document: Document) throws -> [(kind: String, subject: Subject)] {
    var contents: [(kind: String, subject: Subject)] = []
    if let subscription = document.subscriptionNotification {
      contents.append(
        (
          "subscription.\(subscription.notificationType ?? 0)",
          .subscription(try token(subscription.purchaseToken))
        ))
    }
    if let product = document.oneTimeProductNotification {
      contents.append(
        ("product.\(product.notificationType ?? 0)", .product(try token(product.purchaseToken))))
    }
    if let voided = document.voidedPurchaseNotification {
      guard let order = voided.orderId.flatMap({ GoogleOrder($0) }) else {
        throw ReceiptError.malformed("the notification names no order")
      }
      contents.append(
        (
          "voided.\(voided.productType ?? 0)",
          .voided(
            try token(voided.purchaseToken), order: order, isSubscription: voided.productType == 1,
            isPartial: voided.refundType == 2)
        ))
    }
    if document.testNotification != nil { contents.append(("test", .test)) }
    return contents
  }

  private static func token(_ text: String?) throws -> GooglePurchaseToken {
    guard let token = text.flatMap({ GooglePurchaseToken($0) }) else {
      throw ReceiptError.malformed("the notification names no purchase")
    }
    return token
  }
}

/// A message that Pub/Sub posts around a notification.
public struct GooglePushMessage: Hashable, Sendable {
  /// The message's name, by which it counts once.
  public let identifier: String
  /// The notification, which is still to be read.
  public let data: [UInt8]

  /// Bytes of a message, at most.
  public static let maximumLength = 65_536
  private static let maximumIdentifierLength = 100

  private struct Envelope: Decodable {
    struct Message: Decodable {
      var data: String?
      var messageId: String?
    }
    var message: Message
  }

  /// Throws ``ReceiptError`` `malformed`.
  public init(body: [UInt8]) throws {
    let envelope = try GoogleDocument.decode(
      Envelope.self, from: body, upTo: Self.maximumLength, "message")
    guard let identifier = envelope.message.messageId,
      (1...Self.maximumIdentifierLength).contains(identifier.utf8.count), !identifier.utf8.contains(0),
      let data = envelope.message.data.flatMap({ Base64.decodeLines($0) ?? Base64.decodeLines($0, .url) })
    else { throw ReceiptError.malformed("the message lacks its name or its data") }
    self.identifier = identifier
    self.data = data
  }
}

/// A page of refunds as `purchases.voidedpurchases.list` tells them.
public struct GoogleVoidedPage: Sendable {
  /// An order that counts as never made.
  public struct Item: Hashable, Sendable {
    /// The token that proves the purchase.
    public var token: GooglePurchaseToken
    /// The order that was refunded.
    public var order: GoogleOrder
    /// The moment of the refund.
    public var date: Timestamp
  }

  /// Those that are readable.
  public let items: [Item]
  /// The token of the next page; nil on the last one.
  public let nextPage: String?

  /// Bytes of a page, at most.
  public static let maximumLength = 4_194_304

  private struct Page: Decodable {
    struct Purchase: Decodable {
      var purchaseToken: String?
      var orderId: String?
      var voidedTimeMillis: String?
      /// Only where a part of a quantity was refunded.
      var voidedQuantity: Int?
    }
    struct Pagination: Decodable {
      var nextPageToken: String?
    }
    var voidedPurchases: [Purchase]?
    var tokenPagination: Pagination?
  }

  /// Throws ``ReceiptError`` `malformed`.
  public init(response: [UInt8]) throws {
    let page = try GoogleDocument.decode(
      Page.self, from: response, upTo: Self.maximumLength, "list of refunds")
    items = (page.voidedPurchases ?? []).compactMap { purchase in
      guard let token = purchase.purchaseToken.flatMap({ GooglePurchaseToken($0) }),
        let order = purchase.orderId.flatMap({ GoogleOrder($0) }),
        let milliseconds = purchase.voidedTimeMillis.flatMap({ Int64($0) }), milliseconds >= 0
      else { return nil }
      return Item(
        token: token, order: order,
        date: Timestamp(clampingMilliseconds: milliseconds))
    }
    nextPage = page.tokenPagination?.nextPageToken
  }
}

/// The part of the answer of `orders.batchGet` about one order that matters here.
public struct GoogleOrderRecord: Hashable, Sendable {
  /// The order.
  public let order: GoogleOrder
  /// When it was made: of a renewal, when it was charged.
  public let created: Timestamp
  /// Whether all of it was given back, or cancelled.
  public let isRefunded: Bool

  private struct Page: Decodable {
    struct Order: Decodable {
      var orderId: String?
      var state: String?
      var createTime: String?
    }
    var orders: [Order]?
  }

  /// Those of an answer that are readable. Throws ``ReceiptError`` `malformed`.
  public static func all(response: [UInt8]) throws -> [GoogleOrderRecord] {
    let page = try GoogleDocument.decode(
      Page.self, from: response, upTo: GoogleVoidedPage.maximumLength, "answer about orders")
    return (page.orders ?? []).compactMap { found in
      guard let order = found.orderId.flatMap({ GoogleOrder($0) }),
        let created = found.createTime.flatMap({ Timestamp(clampingRFC3339: $0) })
      else { return nil }
      return GoogleOrderRecord(
        order: order, created: created, isRefunded: found.state == "REFUNDED" || found.state == "CANCELED")
    }
  }
}
