import Commerce
import CoreTypes
import Database
import PullboxAPI
import ServiceRuntime

/// A ``PurchaseLifecycle`` as the columns have it. A transaction that waits has the state `purchasing` there,
/// and `waits_for` beside it. Prices, offers and revocations are read back only where all their columns can
/// be.
struct LifeColumns {
  var state = "purchasing"
  var sale: PurchaseLifecycle.Sale?
  var finished: Timestamp?
  var failure: PurchaseFailure?
  /// `approval` or `customer`; nil for what does not wait.
  var waitsFor: String?
  var waitsUntil: Timestamp?

  init(_ life: PurchaseLifecycle) {
    switch life.state {
    case .purchasing: break
    case .waiting(.customer): waitsFor = "customer"
    case .waiting(.approval(let until)):
      waitsFor = "approval"
      waitsUntil = until
    case .purchased(let sold, let date):
      state = "purchased"
      sale = sold
      finished = date
    case .failed(let reason):
      state = "failed"
      failure = reason
    }
  }

  /// Throws ``StateDirectoryError`` `damaged` for a sale of an unknown type or reason.
  static func life(_ row: Row) throws -> PurchaseLifecycle {
    switch try row.text("state") {
    case "purchasing":
      if let until = try row.optionalTimestamp("waits_until") {
        return PurchaseLifecycle(.waiting(.approval(until: until)))
      }
      let waits = try row.optionalText("waits_for") != nil
      return PurchaseLifecycle(waits ? .waiting(.customer) : .purchasing)
    case "failed":
      return PurchaseLifecycle(.failed(PurchaseFailure(rawValue: try row.text("failure"))))
    default:
      return PurchaseLifecycle(.purchased(try sale(row), finished: try row.optionalTimestamp("finished")))
    }
  }

  /// An offer, price or revocation of an unknown kind is read as none.
  private static func sale(_ row: Row) throws -> PurchaseLifecycle.Sale {
    guard let type = ProductType(rawValue: try row.text("type")),
      let reason = PurchaseLifecycle.Sale.Reason(rawValue: try row.text("reason"))
    else {
      throw StateDirectoryError(
        .damaged, path: "store.sqlite", message: "a transaction is of no known product type")
    }
    var sale = PurchaseLifecycle.Sale(
      type: type, reason: reason, originalID: try row.integer("original_id"),
      date: try row.timestamp("purchased"), originalDate: try row.timestamp("original_purchased"),
      expires: try row.optionalTimestamp("expires"), upgraded: try row.optionalTimestamp("upgraded"))
    sale.licenseEnds = try row.optionalTimestamp("license_ends")
    if let kind = try row.optionalInteger("offer_kind").flatMap({ SaleOffer.Kind(rawValue: Int($0)) }),
      let payment = try row.optionalText("offer_payment").flatMap(StoreOffer.Payment.init)
    {
      sale.offer = SaleOffer(
        kind: kind, payment: payment, name: try row.optionalText("offer_name"),
        period: try row.optionalText("offer_period").flatMap { BillingPeriod($0) })
    }
    if let amount = try row.optionalText("price"), let currency = try row.optionalText("currency") {
      sale.price = Price(amount: amount, currency: currency)
    }
    if let kind = try row.optionalText("revocation").flatMap(PurchaseLifecycle.Revocation.Kind.init) {
      sale.revocation = PurchaseLifecycle.Revocation(
        kind: kind, date: try row.timestamp("revoked"),
        percentage: try row.optionalInteger("revocation_percentage").map { Int($0) },
        reason: Int(try row.integer("revocation_reason")))
    }
    return sale
  }
}
