import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("What a collection may take")
struct GarbageCollectionPlanTests {
  private let now = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
  private let a = SHA256Digest.of("a".utf8)
  private let b = SHA256Digest.of("b".utf8)

  private func upload(_ id: String, age: Int, digest: SHA256Digest? = nil) -> Upload {
    Upload(
      id: id, owner: "o", length: nil, metadata: "", digest: digest, awaitsEnd: false, wholeDigest: nil,
      created: now - .seconds(age), touched: now - .seconds(age))
  }

  private func plan(
    uploads: [Upload] = [], incoming: [String: ByteCount] = [:], blobs: [SHA256Digest] = [],
    needed: Set<SHA256Digest> = [], since: [SHA256Digest: Int] = [:]
  ) -> GarbageCollectionPlan {
    GarbageCollectionPlan(
      GarbageCollectionFacts(
        now: now, uploads: uploads, incoming: incoming,
        blobs: Dictionary(uniqueKeysWithValues: blobs.map { ($0, ByteCount(5)) }), needed: needed,
        unneededSince: since.mapValues { now - .seconds($0) }), lifetime: .seconds(100), grace: .seconds(10))
  }

  @Test("an upload expires exactly when its lifetime has passed since it was last added to")
  func expiry() {
    let plan = plan(
      uploads: [upload("old", age: 100), upload("young", age: 99)],
      incoming: ["old": ByteCount(7), "young": .zero])
    #expect(plan.expired == [.init(upload: "old", bytes: ByteCount(7), owner: "o")])
    #expect(plan.strays.isEmpty)
  }

  @Test("a file that belongs to no upload is a stray") func strays() {
    #expect(
      plan(uploads: [upload("u", age: 0)], incoming: ["u": .zero, "s": ByteCount(3)]).strays
        == [.init(upload: "s", bytes: ByteCount(3), owner: nil)])
  }

  @Test("a blob is due when it was unneeded for the whole grace period, as earlier collections found")
  func grace() {
    #expect(plan(blobs: [a]).due.isEmpty)
    #expect(plan(blobs: [a]).newlyUnneeded == [a])
    #expect(plan(blobs: [a], since: [a: 9]).waiting.map(\.digest) == [a])
    #expect(plan(blobs: [a], since: [a: 10]).due.map(\.digest) == [a])
  }

  @Test("what a version, a live grant or an upload that has not expired needs is not touched")
  func needed() {
    #expect(plan(blobs: [a], needed: [a], since: [a: 1000]).due.isEmpty)
    #expect(plan(uploads: [upload("u", age: 99, digest: a)], blobs: [a], since: [a: 1000]).due.isEmpty)
    #expect(plan(uploads: [upload("u", age: 100, digest: a)], blobs: [a], since: [a: 1000]).due.count == 1)
  }

  @Test("what is needed again, or gone, is not kept in mind as unneeded") func unmarked() {
    #expect(Set(plan(blobs: [a], needed: [a], since: [a: 5, b: 5]).noLongerUnneeded) == [a, b])
  }
}
