@testable import pullbox
import Testing

@Suite("Lines that are written again in place")
struct LiveRegionTests {
  private let escape = "\u{1B}["

  @Test("the first frame is the lines; the next goes up as many as there were")
  func frames() {
    var screen = LiveRegion()
    #expect(screen.frame(["a", "b"], columns: 80) == "\ra\(escape)K\nb\(escape)K\n\(escape)J")
    #expect(screen.frame(["c"], columns: 80) == "\r\(escape)2Ac\(escape)K\n\(escape)J")
    #expect(screen.frame(["d"], columns: 80).hasPrefix("\r\(escape)1A"))
  }

  @Test("no lines leave nothing behind")
  func clearing() {
    var screen = LiveRegion()
    _ = screen.frame(["a", "b"], columns: 80)
    #expect(screen.frame([], columns: 80) == "\r\(escape)2A\(escape)J")
    #expect(screen.frame([], columns: 80) == "\r\(escape)J")
  }

  @Test("a terminal that became narrower has wrapped the lines, colors not counted")
  func narrower() {
    var screen = LiveRegion()
    _ = screen.frame(
      [String(repeating: "x", count: 50), ANSIColor.red.paint(String(repeating: "y", count: 20))], columns: 80
    )
    #expect(screen.frame(["z"], columns: 20).hasPrefix("\r\(escape)4A"))
  }

  @Test("a line above pushes the live ones down, which are drawn again")
  func above() {
    var screen = LiveRegion()
    _ = screen.frame(["a"], columns: 80)
    #expect(screen.above("note", columns: 80) == "\r\(escape)1Anote\(escape)K\n\(escape)J")
    #expect(screen.frame(["a"], columns: 80) == "\ra\(escape)K\n\(escape)J")
  }
}
