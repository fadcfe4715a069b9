import AgentRecords
import Commerce
import CoreTypes
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentLibrary

@Suite("What is known of ownership")
struct OwnershipRegisterTests {
  private let product: ProductIdentifier
  private let register = OwnershipRegister()

  init() throws { product = try #require(ProductIdentifier("com.example.heroes")) }

  private func known(_ isOwned: Bool) -> KnownOwnership {
    KnownOwnership(
      isOwned: isOwned, because: nil, until: nil, asOf: Timestamp(millisecondsSinceEpoch: 1_700_000_000_000))
  }

  @Test("what is saved is known to all news that are made after it, also where these came meanwhile")
  func serial() async throws {
    let (product, register, first, second) = (product, register, known(true), known(false))
    let (isSaving, isMade, before) = (Locked(false), Locked(false), Locked<KnownOwnership?>(nil))
    async let earlier = BlockingThread(name: "earlier").run {
      try register.update({ _ in [product: first] }) { _ in
        isSaving.withLock { $0 = true }
        // The other one would be made now if it did not wait: it is given time for that.
        for _ in 0..<10_000 where !isMade.current { sched_yield() }
      }
    }
    async let later = BlockingThread(name: "later").run {
      while !isSaving.current { sched_yield() }
      return try register.update({ known in
        isMade.withLock { $0 = true }
        before.withLock { $0 = known[product] }
        return [product: second]
      }) { _ in }
    }
    let changes = try await (earlier, later)
    #expect(changes.0 == [] && changes.1 == [product])
    #expect(before.current?.isOwned == true)
    #expect(register[product]?.isOwned == false)
  }

  @Test("what could not be saved is not known, and what says nothing new is no news")
  func failures() throws {
    #expect(throws: CancellationError.self) {
      try register.update({ _ in [product: known(false)] }) { _ in throw CancellationError() }
    }
    #expect(register.all.isEmpty)
    register.load([product: known(false)])
    let saved = Locked<Int?>(nil)
    let changed = try register.update({ $0 }) { news in saved.withLock { $0 = news.count } }
    #expect(changed == nil && saved.current == 0)
  }
}
