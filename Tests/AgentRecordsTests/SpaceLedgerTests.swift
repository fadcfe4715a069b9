import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import Testing

@testable import AgentRecords

@Suite struct SpaceLedgerTests {
  private typealias Ledger = SpaceLedger<String>

  private func mebibytes(_ count: Int64) -> ByteCount { .mebibytes(count) }
  private func need(_ count: Int64, spool: Int64 = 0) -> SpaceNeed {
    SpaceNeed(unpacked: .mebibytes(count), spool: .mebibytes(spool))
  }

  @Test("two jobs of 100 MiB do not both get 160 MiB, and the second is told the numbers (D6)")
  func two() {
    var ledger = Ledger(reserve: .mebibytes(32))
    let volume = Ledger.Volume(free: .mebibytes(160), removable: .mebibytes(7))
    #expect(ledger.admit("a", needing: need(100), in: volume) == nil)
    #expect(
      ledger.admit("b", needing: need(100), in: volume)?.shortage
        == SpaceShortage(
          needed: .mebibytes(100), free: .mebibytes(60), reserve: .mebibytes(32), removable: .mebibytes(7)))
    // 40 MiB of a are written: the file system has less, a's promise too.
    ledger.setPromise(to: "a", .mebibytes(60))
    let later = Ledger.Volume(free: .mebibytes(120))
    #expect(ledger.admit("b", needing: need(100), in: later)?.shortage.free == .mebibytes(60))
    #expect(ledger.admit("c", needing: need(28), in: later) == nil)
    ledger.release("a")
    ledger.release("c")
    #expect(ledger.admit("b", needing: need(88), in: later) == nil)
  }

  @Test("the reserve is never promised, to the byte; the spool counts (D7)")
  func exact() {
    var ledger = Ledger(reserve: .mebibytes(32))
    let volume = Ledger.Volume(free: .mebibytes(148))
    #expect(ledger.admit("a", needing: need(100, spool: 16), in: volume) == nil)
    #expect(ledger.admit("a", needing: need(100, spool: 17), in: volume)?.shortage.needed == .mebibytes(117))
    #expect(ledger.promises.isEmpty)
    let less = Ledger.Volume(free: .mebibytes(148) - ByteCount(1))
    #expect(ledger.admit("a", needing: need(100, spool: 16), in: less) != nil)
    #expect(ledger.admit("a", needing: need(0), in: Ledger.Volume(free: .mebibytes(1))) == nil)
  }

  @Test("a job that asks again is measured without its own earlier promise")
  func again() {
    var ledger = Ledger(reserve: .zero)
    let volume = Ledger.Volume(free: .mebibytes(100))
    #expect(ledger.admit("a", needing: need(90), in: volume) == nil)
    #expect(ledger.admit("a", needing: need(95), in: volume) == nil)
    #expect(ledger.promises == ["a": .mebibytes(95)])
  }

  @Test("a quota bounds what is placed, staged and promised together, where the disk has more")
  func quota() {
    var ledger = Ledger(reserve: .mebibytes(32), quota: .mebibytes(200))
    let volume = Ledger.Volume(free: .gibibytes(1), used: .mebibytes(90))
    #expect(ledger.admit("a", needing: need(60), in: volume) == nil)
    #expect(ledger.admit("b", needing: need(51), in: volume) != nil)
    #expect(ledger.admit("b", needing: need(50), in: volume) == nil)
  }

  @Test("the numbers are those of the bound that lacks most, the file system or the quota")
  func bounds() throws {
    let ledger = Ledger(reserve: .mebibytes(32), quota: .mebibytes(200))
    let small = Ledger.Volume(free: .mebibytes(100), used: .mebibytes(120), removable: .mebibytes(9))
    // 68 MiB of the disk may be used, 80 MiB of the quota.
    let onDisk = try #require(ledger.shortage(of: need(90), in: small))
    #expect(
      onDisk.shortage
        == SpaceShortage(
          needed: .mebibytes(90), free: .mebibytes(100), reserve: .mebibytes(32), removable: .mebibytes(9)))
    #expect(onDisk.missing == .mebibytes(22) && onDisk.description.contains("100.0 MiB are free"))
    let large = Ledger.Volume(free: .gibibytes(1), used: .mebibytes(120), removable: .mebibytes(9))
    let inQuota = try #require(ledger.shortage(of: need(90), in: large))
    #expect(
      inQuota.shortage
        == SpaceShortage(
          needed: .mebibytes(90), free: .mebibytes(80), reserve: .zero, removable: .mebibytes(9),
          quota: .mebibytes(200)))
    #expect(inQuota.missing == .mebibytes(10))
    #expect(inQuota.description.contains("80.0 MiB of the quota of 200.0 MiB"))
  }

  @Test("a quota that was lowered below what is placed lacks all of it, and nothing is said to be left")
  func lowered() throws {
    let ledger = Ledger(reserve: .mebibytes(32), quota: .mebibytes(50))
    let volume = Ledger.Volume(free: .gibibytes(1), used: .mebibytes(120))
    let error = try #require(ledger.shortage(of: need(10), in: volume))
    #expect(error.shortage.free == .zero && error.shortage.quota == .mebibytes(50))
    #expect(error.missing == .mebibytes(80))
  }

  @Test("a job that was not admitted has no promise to change")
  func unknown() {
    var ledger = Ledger(reserve: .zero)
    ledger.setPromise(to: "a", .mebibytes(5))
    #expect(ledger.promises.isEmpty)
  }

  private func candidate(
    _ product: String, _ version: String, size: Int64, placed: Int64, opened: Int64? = nil,
    superseded: Bool = false, sections: [String: Int64] = [:]
  ) throws -> Eviction.Candidate {
    Eviction.Candidate(
      record: LibraryRecord(
        product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion(version)),
        name: nil, digest: .of([]), manifestDigest: nil, length: .zero, sizeOnDisk: .mebibytes(size),
        placedAt: Timestamp(millisecondsSinceEpoch: placed), title: nil,
        lastOpened: opened.map { Timestamp(millisecondsSinceEpoch: $0) }),
      isSuperseded: superseded,
      sections: Dictionary(
        uniqueKeysWithValues: try sections.map { (try #require(SectionTag($0)), .mebibytes($1)) }))
  }

  @Test(
    "earlier versions go first, then what was opened longest ago; no more than is needed, and none where it is too little"
  )
  func eviction() throws {
    let candidates = [
      try candidate("new", "1.0", size: 10, placed: 50),
      try candidate("read", "1.0", size: 10, placed: 1, opened: 90),
      try candidate("old", "1.0", size: 10, placed: 2, opened: 20),
      try candidate("corrected", "1.0", size: 10, placed: 60, superseded: true),
    ]
    func selected(_ missing: Int64) -> [String] {
      Eviction.plan(from: candidates, toFree: .mebibytes(missing)).records.map(\.product.description)
    }
    #expect(selected(0) == [])
    #expect(selected(5) == ["corrected"])
    #expect(selected(11) == ["corrected", "old"])
    #expect(selected(40) == ["corrected", "old", "new", "read"])
    #expect(selected(41) == [])
  }

  @Test("sections that are fetched on demand go before whole content, and count once where that goes too")
  func sectionsFirst() throws {
    let candidates = [
      try candidate("new", "1.0", size: 10, placed: 50, sections: ["hires": 4, "audio": 2]),
      try candidate("old", "1.0", size: 10, placed: 2, sections: ["hires": 5]),
    ]
    func planned(_ missing: Int64) -> [String] {
      let plan = Eviction.plan(from: candidates, toFree: .mebibytes(missing))
      return plan.sections.map { "\($0.record.product)#\($0.tag)" } + plan.records.map(\.product.description)
    }
    #expect(planned(0) == [])
    #expect(planned(5) == ["old#hires"])
    #expect(planned(6) == ["old#hires", "new#audio"])
    #expect(planned(11) == ["old#hires", "new#audio", "new#hires"])
    #expect(planned(12) == ["new#audio", "new#hires", "old"])
    #expect(planned(16) == ["new#audio", "new#hires", "old"])
    #expect(planned(20) == ["old", "new"])
    #expect(planned(21) == [])
  }
}
