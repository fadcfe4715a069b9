import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import Receipts
import Testing

@testable import PaymentStores

@Suite("Verdicts that are kept")
struct VerdictCacheTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
  private let date = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)

  private func key(_ text: String, store: StoreIdentifier = .sandbox) -> VerdictCache.Key {
    VerdictCache.Key(store: store, digest: SHA256Digest.of(Array(text.utf8)))
  }

  private func proof(_ id: String = "1", expires: Timestamp? = nil) throws -> VerdictCache.Verdict {
    .verified(try verified(id, expires: expires))
  }

  private func verified(_ id: String, expires: Timestamp?) throws -> VerifiedProof {
    let receipt = AppReceipt(
      environmentName: "ProductionSandbox", bundleIdentifier: "com.example", applicationVersion: "1",
      creationDate: date)
    let transaction = try #require(TransactionIdentifier(id))
    return VerifiedProof(
      transactions: [
        VerifiedTransaction(
          vouchedForBy: .sandbox, in: .sandbox, id: transaction, originalID: transaction,
          product: try #require(ProductIdentifier("com.example.issue1")), purchaseDate: date,
          expiresDate: expires)
      ], binding: receipt.deviceBinding)
  }

  @Test("a verdict is believed for five minutes from the question, and not a moment longer")
  func lifetime() throws {
    var cache = VerdictCache()
    cache.insert(try proof(), for: key("a"), askedAt: start, date: date, revision: 0)
    #expect(cache.verdict(for: key("a"), at: start + .seconds(299), date: date) != nil)
    #expect(cache.verdict(for: key("a"), at: start + .seconds(300), date: date) == nil)
    #expect(cache.count == 0)
  }

  @Test("a subscription's next end, by the wall clock, ends the verdict earlier")
  func expiry() throws {
    var cache = VerdictCache()
    let end = date + .seconds(60)
    cache.insert(try proof(expires: end), for: key("a"), askedAt: start, date: date, revision: 0)
    #expect(cache.verdict(for: key("a"), at: start, date: end + .milliseconds(-1)) != nil)
    #expect(cache.verdict(for: key("a"), at: start, date: end) == nil)
  }

  @Test("an end that is past does not end the verdict: the store knew of it")
  func pastExpiry() throws {
    var cache = VerdictCache()
    cache.insert(try proof(expires: date), for: key("a"), askedAt: start, date: date, revision: 0)
    #expect(cache.verdict(for: key("a"), at: start + .seconds(299), date: date + .seconds(299)) != nil)
  }

  @Test("a refusal is repeated for half a minute")
  func refusal() {
    var cache = VerdictCache()
    cache.insert(
      .refused(Problem(.receiptNotAuthentic)), for: key("a"), askedAt: start, date: date, revision: 0)
    #expect(cache.verdict(for: key("a"), at: start + .seconds(29), date: date) != nil)
    #expect(cache.verdict(for: key("a"), at: start + .seconds(30), date: date) == nil)
  }

  private func key(_ transaction: String, of store: StoreIdentifier) throws -> TransactionKey {
    TransactionKey(
      store: store, environment: .sandbox, id: try #require(TransactionIdentifier(transaction)))
  }

  @Test("another proof, and the same at another store, is another question")
  func keys() throws {
    var cache = VerdictCache()
    cache.insert(try proof(), for: key("a"), askedAt: start, date: date, revision: 0)
    #expect(cache.verdict(for: key("b"), at: start, date: date) == nil)
    #expect(cache.verdict(for: key("a", store: .apple), at: start, date: date) == nil)
  }

  @Test("what is known later of a transaction ends the verdicts about it, and no other")
  func forget() throws {
    var cache = VerdictCache()
    cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: 0)
    cache.insert(try proof("2"), for: key("b"), askedAt: start, date: date, revision: 0)
    cache.forget([try key("1", of: .sandbox)], at: start)
    #expect(cache.verdict(for: key("a"), at: start, date: date) == nil)
    #expect(cache.verdict(for: key("b"), at: start, date: date) != nil)
    cache.forget([try key("2", of: .apple)], at: start)
    #expect(cache.verdict(for: key("b"), at: start, date: date) != nil)
  }

  @Test("what was asked before something was forgotten is not kept: it may be just that")
  func forgottenMeanwhile() throws {
    var cache = VerdictCache()
    let before = cache.revision
    cache.forget([try key("1", of: .sandbox)], at: start)
    cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: before)
    #expect(cache.count == 0)
    cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: cache.revision)
    #expect(cache.count == 1)
  }

  @Test("news about one purchase keep no verdict in flight about another from being kept")
  func othersMeanwhile() throws {
    var cache = VerdictCache()
    let before = cache.revision
    for number in 0..<1000 { cache.forget([try key("9\(number)", of: .sandbox)], at: start) }
    cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: before)
    #expect(cache.verdict(for: key("a"), at: start, date: date) != nil)
    cache.insert(try proof("9500"), for: key("b"), askedAt: start, date: date, revision: before)
    #expect(cache.verdict(for: key("b"), at: start, date: date) == nil)
  }

  @Test("what was asked before news is not believed either, once the news are old and others have come")
  func oldNews() throws {
    var cache = VerdictCache()
    let before = cache.revision
    cache.forget([try key("1", of: .sandbox)], at: start)
    for minute in 1...20 {
      let now = start + .seconds(60) * minute
      cache.forget([try key("2", of: .sandbox)], at: now)
      cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: before)
      #expect(cache.verdict(for: key("a"), at: now, date: date) == nil)
    }
  }

  @Test("more news than are remembered end every verdict, and later ones are kept again")
  func manyNews() throws {
    var cache = VerdictCache()
    let before = cache.revision
    cache.insert(try proof("1"), for: key("a"), askedAt: start, date: date, revision: before)
    for number in 0...VerdictCache.maximumNews {
      cache.forget([try key("9\(number)", of: .sandbox)], at: start)
    }
    #expect(cache.verdict(for: key("a"), at: start, date: date) == nil)
    cache.insert(try proof("9"), for: key("b"), askedAt: start, date: date, revision: before)
    #expect(cache.verdict(for: key("b"), at: start, date: date) == nil)
    cache.insert(try proof("9"), for: key("b"), askedAt: start, date: date, revision: cache.revision)
    #expect(cache.verdict(for: key("b"), at: start, date: date) != nil)
  }

  @Test("the cache holds no more entries than its bound, and what is used stays")
  func bound() throws {
    var cache = VerdictCache(maximumCount: 100)
    cache.insert(try proof(), for: key("used"), askedAt: start, date: date, revision: 0)
    for number in 0..<1000 {
      cache.insert(try proof(), for: key("\(number)"), askedAt: start, date: date, revision: 0)
      #expect(cache.verdict(for: key("used"), at: start, date: date) != nil)
      #expect(cache.count <= 100)
    }
    #expect(cache.verdict(for: key("999"), at: start, date: date) != nil)
    #expect(cache.verdict(for: key("0"), at: start, date: date) == nil)
  }
}
