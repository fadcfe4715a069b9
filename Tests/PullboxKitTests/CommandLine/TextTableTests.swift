@testable import pullbox
import Testing

@Suite("Tables")
struct TextTableTests {
  private let table = TextTable(
    columns: [.text("NAME"), .number("SIZE"), .text("NOTE")],
    rows: [["漫画", "7 B", "wide"], ["comic", "12 KiB", ""]])

  @Test("columns are aligned by the width of what they hold, numbers to the right, without spaces at the end")
  func aligned() {
    #expect(
      table.lines(width: nil) == [
        "NAME     SIZE  NOTE",
        "漫画      7 B  wide",
        "comic  12 KiB",
      ])
  }

  @Test("on a terminal lines are cut, never wrapped")
  func cut() {
    #expect(table.lines(width: 12) == ["NAME     SI…", "漫画      7…", "comic  12 K…"])
  }
}
