import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PullboxAPI
import ServiceAPI

/// Counts, before an issue is released behind its date, the subscribers to whom it opens and would not have at
/// that date. It reads only, over several transactions: the count is what the ledger said while it was made.
struct LateReleaseCounter: Sendable {
  /// Payments that are looked at in one turn of the database, so that others get theirs.
  private static let batch = 500
  /// Subscriptions of one type to a publication that are looked at.
  private static let maximumSubscriptions = 1000

  /// The server's database, which it never writes.
  let database: Database

  /// The facts about one release, read in one transaction.
  private struct Question: Sendable {
    /// The publication whose subscribers are counted.
    let publication: ProductIdentifier
    /// The issue's publication date.
    let date: Timestamp
    /// Where periods have to be computed: all subscriptions to the publication. Empty where all of its subscribers are counted.
    let subscriptions: [Product]
  }

  /// The payments by which subscribers are found.
  private enum Payments: Sendable {
    case withEnd
    case withoutEnd
  }

  /// The release at `now`. Nil for what is no issue, for one that is not dated earlier, and for one that was
  /// released before. Throws ``DatabaseError``.
  func lateRelease(of product: ProductIdentifier, at now: Timestamp) async throws -> LateRelease? {
    let question = try await database.read { try Self.question(about: product, at: now, in: $0) }
    guard let question else { return nil }
    var count = 0
    // Who pays twice is looked at once.
    var seen: Set<CustomerIdentifier> = []
    for payments: Payments in question.subscriptions.isEmpty ? [.withEnd] : [.withEnd, .withoutEnd] {
      var place: LedgerTable.PaymentPlace?
      repeat {
        let (start, known) = (place, seen)
        let (customers, later, next) = try await database.read { connection in
          let page = try Self.page(payments, question, at: now, after: start, in: connection)
          let customers = page.customers.subtracting(known)
          return (customers, try Self.later(customers, question, at: now, in: connection), page.next)
        }
        seen.formUnion(customers)
        count += later
        place = next
      } while place != nil
    }
    return LateRelease(publicationDate: question.date, laterSubscribers: count)
  }

  /// Returns the question that a release at `now` asks; nil where it asks none.
  private static func question(
    about product: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Question? {
    guard let issue = try ProductTable.find(product, in: connection)?.product, !issue.type.isSubscription,
      let publication = issue.publication, issue.firstReleased == nil, let date = issue.publicationDate,
      date < now
    else { return nil }
    let withoutEnd = try subscriptions(
      to: publication, of: [.nonRenewingSubscription, .freeSubscription], in: connection)
    guard !withoutEnd.isEmpty else {
      return Question(publication: publication, date: date, subscriptions: [])
    }
    let renewing = try subscriptions(to: publication, of: [.autoRenewableSubscription], in: connection)
    return Question(publication: publication, date: date, subscriptions: renewing + withoutEnd)
  }

  /// Returns the customers of the payments behind `place` who may have to be counted.
  private static func page(
    _ payments: Payments, _ question: Question, at now: Timestamp, after place: LedgerTable.PaymentPlace?,
    in connection: borrowing Connection
  ) throws -> LedgerTable.PayerPage {
    switch payments {
    case .withEnd:
      try LedgerTable.subscribers(
        to: question.publication, at: now, butNotAt: question.date, after: place, limit: batch, in: connection
      )
    case .withoutEnd:
      try LedgerTable.payersWithoutEnd(
        to: question.publication, after: question.date, until: now, after: place, limit: batch, in: connection
      )
    }
  }

  /// Counts those of the customers to whom the issue opens now.
  private static func later(
    _ customers: Set<CustomerIdentifier>, _ question: Question, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Int {
    guard !question.subscriptions.isEmpty else { return customers.count }
    var later = 0
    for customer in customers where try isLater(customer, question, at: now, in: connection) { later += 1 }
    return later
  }

  /// Returns the catalog's subscriptions to the publication of these types, ``maximumSubscriptions`` of each
  /// type at most.
  private static func subscriptions(
    to publication: ProductIdentifier, of types: [ProductType], in connection: borrowing Connection
  ) throws -> [Product] {
    var found: [Product] = []
    for type in types {
      let filter = ProductTable.Filter(publication: publication, type: type)
      found += try ProductTable.page(
        after: "", matching: filter, limit: maximumSubscriptions, in: connection
      ).map(\.product)
    }
    return found
  }

  /// Whether the customer's paid times contain `now`, begun a second ago at least, and not the issue's date.
  private static func isLater(
    _ customer: CustomerIdentifier, _ question: Question, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let subscriptions = Set(question.subscriptions.map(\.id))
    let payments = try LedgerTable.transactions(of: customer, in: connection).filter {
      subscriptions.contains($0.product)
    }
    let record = try EntitlementRecordTable.record(of: payments, in: connection)
    let times = EntitlementRules().paidTimes(
      of: question.publication, by: payments, catalog: question.subscriptions, record: record, now: now)
    return times.contains { $0.contains(now) && $0.lowerBound <= now - .seconds(1) }
      && !times.contains { $0.contains(question.date) }
  }
}
