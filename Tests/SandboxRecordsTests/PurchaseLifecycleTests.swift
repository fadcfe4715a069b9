import Commerce
import CoreTypes
import Testing

@testable import SandboxRecords

@Suite("The life of a transaction")
struct PurchaseLifecycleTests {
  static let sale = PurchaseLifecycle.Sale(
    type: .nonConsumable, originalID: 1, date: Timestamp(millisecondsSinceEpoch: 1000),
    originalDate: Timestamp(millisecondsSinceEpoch: 1000))
  static let date = Timestamp(millisecondsSinceEpoch: 2000)
  static let later = Timestamp(millisecondsSinceEpoch: 3000)

  static let purchased = PurchaseLifecycle.State.purchased(sale, finished: nil)
  static let finished = PurchaseLifecycle.State.purchased(sale, finished: date)
  static let failed = PurchaseLifecycle.State.failed(.interrupted)
  static let waiting = PurchaseLifecycle.State.waiting(.approval(until: later))
  static let refund = PurchaseLifecycle.Revocation(kind: .refund, date: later, percentage: 100)
  static let ended = PurchaseLifecycle.Revocation(kind: .family, date: later)
  static let refunded = PurchaseLifecycle.State.purchased(sold { $0.revocation = refund }, finished: date)
  static let revoked = PurchaseLifecycle.State.purchased(sold { $0.revocation = ended }, finished: nil)
  static let period = PurchaseLifecycle.State.purchased(sold { $0.expires = later }, finished: nil)
  static let left = PurchaseLifecycle.State.purchased(
    sold {
      $0.expires = later
      $0.upgraded = date
    }, finished: nil)

  private static func sold(
    _ change: (inout PurchaseLifecycle.Sale) -> Void
  ) -> PurchaseLifecycle.Sale {
    var sale = sale
    change(&sale)
    return sale
  }

  /// Every state with every event.
  static let table:
    [(PurchaseLifecycle.State, PurchaseLifecycle.Event, PurchaseLifecycle.Outcome, PurchaseLifecycle.State)] =
      [
        (.purchasing, .sold(sale), .changed, purchased),
        (.purchasing, .refused(.interrupted), .changed, failed),
        (.purchasing, .finish(at: date), .refused, .purchasing),
        (purchased, .sold(sale), .refused, purchased),
        (purchased, .refused(.interrupted), .refused, purchased),
        (purchased, .finish(at: date), .changed, finished),
        (finished, .sold(sale), .refused, finished),
        (finished, .refused(.interrupted), .refused, finished),
        (finished, .finish(at: later), .unchanged, finished),
        (failed, .sold(sale), .refused, failed),
        (failed, .refused(.productUnknown), .refused, failed),
        (failed, .finish(at: date), .refused, failed),
        (.purchasing, .suspended(.approval(until: later)), .changed, waiting),
        (.purchasing, .resumed, .refused, .purchasing),
        (.purchasing, .revoked(refund), .refused, .purchasing),
        (.purchasing, .reinstated, .refused, .purchasing),
        (.purchasing, .upgraded(at: date), .refused, .purchasing),
        (waiting, .resumed, .changed, .purchasing),
        (waiting, .refused(.interrupted), .changed, failed),
        (waiting, .sold(sale), .refused, waiting),
        (waiting, .suspended(.customer), .refused, waiting),
        (waiting, .finish(at: date), .refused, waiting),
        (purchased, .suspended(.customer), .refused, purchased),
        (purchased, .resumed, .refused, purchased),
        (purchased, .upgraded(at: date), .refused, purchased),
        (finished, .revoked(refund), .changed, refunded),
        (refunded, .revoked(ended), .unchanged, refunded),
        (refunded, .reinstated, .changed, finished),
        (purchased, .revoked(ended), .changed, revoked),
        (revoked, .reinstated, .refused, revoked),
        (purchased, .reinstated, .refused, purchased),
        (period, .upgraded(at: date), .changed, left),
        (left, .upgraded(at: later), .unchanged, left),
        (failed, .suspended(.customer), .refused, failed),
        (failed, .resumed, .refused, failed),
        (failed, .revoked(refund), .refused, failed),
      ]

  @Test(
    "each state takes the events that fit it and stays as it is under the others", arguments: table.indices)
  func transitions(index: Int) {
    let (before, event, outcome, after) = Self.table[index]
    var life = PurchaseLifecycle(before)
    #expect(life.handle(event) == outcome)
    #expect(life.state == after)
  }
}
