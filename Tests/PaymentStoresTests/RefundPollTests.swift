import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import PaymentStores

@Suite("Refunds of what is being sent, which nothing tells of", .timeLimit(.minutes(2)))
struct RefundPollTests {
  @Test("proofs are known of the grants that were used last, and are not shown")
  func memory() {
    let proofs = RecentProofs(maximumCount: 4, maximumLength: .kibibytes(4))
    func handle(_ number: UInt64) -> DeliveryHandle { DeliveryHandle(high: number, low: number) }
    func note(_ number: UInt64, _ text: String) {
      let key = VerdictCache.Key(store: .sandbox, digest: SHA256Digest.of(Array(text.utf8)))
      proofs.note(Proof(store: "sandbox", receipt: text), as: key, for: [handle(number)])
    }
    note(1, "secret-1")
    note(2, "secret-1")
    let found = proofs.proofs(of: [handle(1), handle(2), handle(3)])
    #expect(found.map(\.proof.receipt) == ["secret-1"])
    #expect(!"\(found)".contains("secret"))
    for number in 3...9 { note(UInt64(number), "secret-\(number)") }
    #expect(proofs.proofs(of: [handle(1)]).isEmpty)
    #expect(proofs.proofs(of: [handle(9)]).count == 1)
    proofs.forget(handle(9))
    #expect(proofs.proofs(of: [handle(9)]).isEmpty)
    // One proof that takes more than half of what there is is not kept.
    note(10, String(repeating: "a", count: 3000))
    #expect(proofs.proofs(of: [handle(10)]).isEmpty)
  }
}
