import Commerce
import CoreTypes
import Crypto
import Foundation

@testable import Receipts

/// Google Play's messages and answers: what Pub/Sub posts, notifications, purchases, refunds and orders. What is taken keeps to its bounds,
/// shows no token, and means the same without the members that are not read.
enum GoogleProperties {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)
  private static let token = GooglePurchaseToken("abc-123")

  /// Nothing is known, or one transaction of every name is.
  private struct History: GoogleOrderHistory {
    var known: VerifiedTransaction?

    func transaction(_ id: TransactionIdentifier, in: StoreEnvironment) -> VerifiedTransaction? { known }

    func latestEnd(
      of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
    ) -> Timestamp? { known?.expiresDate }
  }

  private struct Posted: Decodable {
    struct Message: Decodable { var data: String }
    var message: Message
  }

  static func check(_ bytes: [UInt8]) -> String? {
    if let message = try? GooglePushMessage(body: bytes) {
      guard (1...100).contains(message.identifier.utf8.count), encoded(message.data, in: bytes) else {
        return "a message of other data: \(message.identifier.debugDescription)"
      }
      if let broken = checkNotification(message.data) { return broken }
    }
    return checkNotification(bytes) ?? checkPurchase(bytes) ?? checkSubscription(bytes) ?? checkLists(bytes)
  }

  /// The data as Foundation reads it from the message.
  private static func encoded(_ data: [UInt8], in bytes: [UInt8]) -> Bool {
    guard let posted = try? JSONDecoder().decode(Posted.self, from: Data(bytes)) else { return false }
    let text = posted.message.data
    let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    var plain = standard.filter { !"\r\n=".contains($0) && $0 != "\r\n" }
    plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: plain).map { Array($0) } == data
  }

  private static func checkNotification(_ bytes: [UInt8]) -> String? {
    guard let read = try? GoogleNotification(data: bytes) else { return nil }
    guard !read.kind.isEmpty, (1...255).contains(read.package.utf8.count),
      read.date >= .init(millisecondsSinceEpoch: 0),
      read.date.writable == read.date
    else { return "a notification of \(read.kind) at \(read.date)" }
    switch read.subject {
    case .subscription(let token), .product(let token), .voided(let token, _, _, _): return check(token)
    case .test, nil: return nil
    }
  }

  private static func check(_ token: GooglePurchaseToken) -> String? {
    guard GooglePurchaseToken(token.text) == token, !token.text.contains("/") else {
      return "a token that is none"
    }
    return token.text.utf8.count > 30 && "\(token)".contains(token.text) ? "a token shows itself" : nil
  }

  private static func checkPurchase(_ bytes: [UInt8]) -> String? {
    guard let token, let store = StoreIdentifier("google"),
      let purchase = try? GoogleProductPurchase(response: bytes),
      let verdict = try? purchase.verdict(for: token, by: store, known: History(), asOf: now)
    else { return nil }
    guard verdict.transactions.count == purchase.productLineItem?.count, purchase.state != .pending else {
      return "\(verdict.transactions.count) transactions"
    }
    for transaction in verdict.transactions {
      guard transaction.expiresDate == nil, transaction.quantity >= 1,
        purchase.isTakenBack == false || transaction.revokedDate != nil
      else { return "\(transaction) of \(purchase.state)" }
    }
    return checkNames(verdict)
  }

  private static func checkSubscription(_ bytes: [UInt8]) -> String? {
    guard let token, let store = StoreIdentifier("google"),
      let purchase = try? GoogleSubscriptionPurchase(response: bytes),
      let verdict = try? purchase.verdict(for: token, by: store, known: History(), asOf: now)
    else { return nil }
    if let broken = checkPeriods(verdict) ?? checkNames(verdict) { return broken }
    // The same answer again, after its own first transaction.
    let known = History(known: verdict.transactions.first)
    guard let again = try? purchase.verdict(for: token, by: store, known: known, asOf: now) else {
      return "an answer is refused that was taken before"
    }
    return checkPeriods(again)
  }

  private static func checkPeriods(_ verdict: GoogleVerdict) -> String? {
    for transaction in verdict.transactions {
      guard let end = transaction.expiresDate, transaction.purchaseDate <= end,
        transaction.graceExpiresDate.map({ end < $0 }) ?? true
      else { return "\(transaction) ends before it begins" }
    }
    return verdict.transactions.isEmpty ? "a subscription to nothing" : nil
  }

  /// Each transaction has a name of its own, and the token comes back from its reference.
  private static func checkNames(_ verdict: GoogleVerdict) -> String? {
    for transaction in verdict.transactions {
      guard let text = transaction.acknowledgement?.reference, let read = GooglePurchaseReference(text),
        read.text == text, read.token == token, read.product == transaction.product
      else { return "a reference that leads to no purchase" }
    }
    return nil
  }

  private static func checkLists(_ bytes: [UInt8]) -> String? {
    if let page = try? GoogleVoidedPage(response: bytes) {
      for item in page.items {
        if let broken = check(item.token) { return broken }
        guard item.date.writable == item.date else { return "a refund at \(item.date)" }
      }
    }
    for record in (try? GoogleOrderRecord.all(response: bytes)) ?? [] {
      guard GoogleOrder(record.order.id.description) == record.order,
        record.created.writable == record.created
      else { return "an order of another name, or of no date" }
    }
    return nil
  }
}
