import CoreTypes
import Testing

@testable import ContentPublishing

@Suite("Who may still write how much")
struct StorageQuotaTests {
  private func reservation(_ total: Int, _ received: Int = 0) -> StorageQuota.Reservation {
    StorageQuota.Reservation(total: ByteCount(total), received: ByteCount(received))
  }

  private func room(_ free: Int, _ stored: Int? = nil) -> StorageQuota.Available {
    StorageQuota.Available(free: ByteCount(free), stored: stored.map { ByteCount($0) })
  }

  @Test("what others were promised and do not have yet is not given twice")
  func promised() {
    var budget = StorageQuota(quota: nil)
    #expect(budget.grant(reservation(60), to: "a", in: room(100)) == nil)
    #expect(budget.grant(reservation(41), to: "b", in: room(100)) != nil)
    #expect(budget.grant(reservation(40), to: "b", in: room(100)) == nil)
    // 50 of a's bytes were written: they are not free any more, nor to come.
    budget.note(ByteCount(50), of: "a")
    #expect(budget.grant(reservation(1), to: "c", in: room(50)) != nil)
    #expect(budget.grant(reservation(60, 50), to: "a", in: room(50)) == nil)
  }

  @Test("an upload that ends gives back what it did not need") func release() {
    var budget = StorageQuota(quota: nil)
    _ = budget.grant(reservation(100), to: "a", in: room(100))
    budget.shrink("a", to: reservation(30, 30))
    #expect(budget.grant(reservation(70), to: "b", in: room(70)) == nil)
    budget.release("b")
    #expect(budget.grant(reservation(70), to: "c", in: room(70)) == nil)
  }

  @Test("a full disk takes nothing, not even an upload of unknown length") func full() {
    var budget = StorageQuota(quota: nil)
    #expect(budget.grant(reservation(0), to: "a", in: room(0)) != nil)
    #expect(budget.reservations.isEmpty)
  }

  @Test("the quota counts packages, and open uploads whole") func quota() {
    var budget = StorageQuota(quota: ByteCount(100))
    #expect(budget.grant(reservation(41), to: "a", in: room(1000, 60)) != nil)
    #expect(budget.grant(reservation(40, 10), to: "a", in: room(1000, 60)) == nil)
    #expect(budget.grant(reservation(1), to: "b", in: room(1000, 60)) != nil)
    // Its own reservation is not in its way.
    #expect(budget.grant(reservation(40, 20), to: "a", in: room(1000, 60)) == nil)
  }
}
