import ServiceRuntime
import Testing

@Suite("Distances between spellings") struct EditDistanceTests {
  @Test(
    "a distance is the fewest insertions, deletions and replacements",
    arguments: [
      ("", "", 0), ("a", "", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2),
      ("issue", "isuse", 2), ("issue", "issue", 0),
    ])
  func distance(one: String, other: String, steps: Int) {
    #expect(EditDistance.distance(one, other) == steps)
    #expect(EditDistance.distance(other, one) == steps)
  }

  @Test(
    "the nearest within two steps is meant, the first among equals, and of short names one that keeps half")
  func nearest() {
    #expect(EditDistance.nearest(to: "isue1", among: ["issue3", "issue2", "issue1"]) == "issue1")
    #expect(EditDistance.nearest(to: "issue", among: ["issue2", "issue1"]) == "issue2")
    #expect(EditDistance.nearest(to: "issue", among: ["issue123"]) == nil)
    #expect(EditDistance.nearest(to: "gc", among: ["ls", "gcc"]) == "gcc")
    #expect(EditDistance.nearest(to: "a", among: ["b"]) == nil)
    #expect(EditDistance.nearest(to: "abcdef", among: [String]()) == nil)
    // One step more than two, with letters of several bytes.
    #expect(EditDistance.nearest(to: "zeitung", among: ["zéïtüng"]) == nil)
    #expect(EditDistance.nearest(to: "zeitung", among: ["zeïtüng"]) == "zeïtüng")
  }

  @Test("all that are near come by their distance, and equals in their order")
  func near() {
    let names = ["issue12", "issue1", "issue13", "other", "issue2"]
    #expect(EditDistance.near(to: "issue1", among: names) == ["issue1", "issue12", "issue13", "issue2"])
    #expect(EditDistance.near(to: "issue1", among: names, within: 0) == ["issue1"])
  }
}
