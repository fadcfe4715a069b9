import PullboxTesting
import Testing

@Suite("The share of an exhaustive test's cases that a run tries") struct ExhaustiveShareTests {
  private static func shares(of count: Int, seeds: Range<Int>) -> [ExhaustiveShare] {
    seeds.map { ExhaustiveShare(share: "1/\(count)", seed: String($0, radix: 16)) }
  }

  @Test(
    "the first and the last case are in every share, each other one in exactly one",
    arguments: [1, 2, 7, 8, 40])
  func partition(count: Int) {
    for length in 0...50 {
      let cases = Array(100..<100 + length)
      let shares = Self.shares(of: count, seeds: 0..<count).map { $0.elements(of: cases) }
      for element in cases {
        let isAtAnEnd = element == cases.first || element == cases.last
        #expect(shares.count { $0.contains(element) } == (isAtAnEnd ? count : 1), "\(element) of \(length)")
      }
      #expect(shares.allSatisfy { $0 == $0.sorted() && Set($0).count == $0.count })
    }
  }

  @Test("cases without a known end are those that a list of them has, the last one among them")
  func sweeps() async {
    for length in 1...30 {
      for share in Self.shares(of: 8, seeds: 0..<8) {
        var tried: [Int] = []
        let found = await share.sweep { index in
          guard index < length else { return length }
          tried.append(index)
          return nil
        }
        #expect(found == length)
        #expect(tried == share.elements(of: 0..<length), "\(length), \(share.place)")
      }
    }
  }

  @Test("a sweep that shows no case ends")
  func emptySweep() async {
    let found = await ExhaustiveShare(share: nil, seed: nil).sweep { _ in 0 }
    #expect(found == 0)
  }

  @Test("over as many seeds as there are cases of a round, each case comes in each variant once")
  func variants() {
    let variants = ["a", "b", "c", "d", "e", "f"]
    var seen: [String: Int] = [:]
    for share in Self.shares(of: 8, seeds: 0..<8 * variants.count) {
      for index in 1..<40 where share.takes(index) {
        let chosen = share.variants(variants, at: index)
        #expect(chosen.count == 1)
        for variant in chosen { seen["\(index)\(variant)", default: 0] += 1 }
      }
    }
    #expect(seen.count == 39 * variants.count && seen.values.allSatisfy { $0 == 1 })
  }

  @Test("the cases of one share come in different variants")
  func diagonal() {
    let share = ExhaustiveShare(share: "1/8", seed: "3")
    let chosen = share.elements(of: 1..<49).flatMap { share.variants(["a", "b", "c"], at: $0) }
    #expect(Set(chosen) == ["a", "b", "c"])
  }

  @Test("without variables it is the first of eight, with a seed a later one, and with 1/1 all there is")
  func environment() {
    let usual = ExhaustiveShare(share: nil, seed: nil)
    #expect(usual.count == 8 && usual.place == 0 && !usual.isThorough)
    let seeded = ExhaustiveShare(share: "1/8", seed: "0000a")
    #expect(seeded.count == 8 && seeded.place == 2 && !seeded.isThorough)
    #expect(ExhaustiveShare(share: "1/8", seed: String(repeating: "f", count: 40)).place == 7)
    let third = ExhaustiveShare(share: "3/8", seed: nil)
    #expect(third.count == 8 && third.place == 2 && third.isThorough)
    let whole = ExhaustiveShare(share: "1/1", seed: nil)
    #expect(whole.elements(of: 0..<9) == Array(0..<9) && whole.isThorough)
    #expect(whole.variants(["a", "b"], at: 5) == ["a", "b"])
  }
}
