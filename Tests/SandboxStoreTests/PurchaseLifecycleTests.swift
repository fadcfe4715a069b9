import Commerce
import CoreTypes
import Testing

@testable import SandboxStore

@Suite("The life of a transaction")
struct PurchaseLifecycleTests {
  static let sale = PurchaseLifecycle.Sale(
    type: .nonConsumable, originalID: 1, date: Timestamp(millisecondsSinceEpoch: 1000))
  static let date = Timestamp(millisecondsSinceEpoch: 2000)
  static let later = Timestamp(millisecondsSinceEpoch: 3000)

  static let purchased = PurchaseLifecycle.State.purchased(sale, finished: nil)
  static let finished = PurchaseLifecycle.State.purchased(sale, finished: date)
  static let failed = PurchaseLifecycle.State.failed(.interrupted)

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
