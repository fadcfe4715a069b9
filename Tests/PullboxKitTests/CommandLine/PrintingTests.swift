import Foundation
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import pullbox

@Suite("Downloads on a terminal and in a log")
struct DownloadPrintingTests {
  @Test("one that moves shows percent, amount, speed and time remaining")
  func moving() throws {
    let download = try Sample.download(verified: 5 << 20, speed: 2_097_152, timeRemaining: 2.5)
    #expect(
      download.line.plain
        == "com.example.heroes.issue42 1.0: 50 %, 5.0 MiB of 10.0 MiB, 2.0 MiB/s, 2 s left")
    let line = download.line.line(columns: 100)
    #expect(line.contains("[") && line.contains("2.0 MiB/s") && line.count <= 100)
  }

  @Test("one that waits says what for, in the place of speed and time")
  func waiting() throws {
    let download = try Sample.download(.waiting, "store-unreachable", verified: 1 << 20)
    #expect(download.line.plain.hasSuffix("10 %, 1.0 MiB of 10.0 MiB, the store cannot be reached"))
  }

  @Test("before the grant there is no percentage")
  func unknownLength() throws {
    let download = try Sample.download(.active, "requesting-grant", total: nil)
    #expect(download.line.plain == "com.example.heroes.issue42 1.0: 0 B, requesting-grant")
  }

  @Test("a board is never wider or higher than the terminal", arguments: [20, 40, 80, 200])
  func bounds(columns: Int) throws {
    var board = DownloadBoard()
    for index in 0..<9 {
      let state: DownloadStatus.State = index < 3 ? .finished : .active
      _ = board.update(try Sample.download(id: "d\(index)", state, "x", verified: Int64(index) << 20))
    }
    let lines = board.lines(columns: columns, rows: 5, inColor: false)
    #expect(lines.count == 5)
    #expect(lines.allSatisfy { TextWidth.of($0) <= columns })
    #expect(lines[3] == "… 6 more")
    #expect(lines.last?.hasPrefix("all 9") == true)
    #expect(lines.allSatisfy { !$0.contains("finished") })
    #expect(board.lines(columns: columns, rows: 10, inColor: false).count == 10)
  }

  @Test("several downloads have a sum, without those that failed, as long as one moves")
  func sum() throws {
    var board = DownloadBoard()
    _ = board.update(try Sample.download(id: "d1", .finished, "placed", verified: 10 << 20))
    #expect(board.sum == nil)
    _ = board.update(
      try Sample.download(id: "d2", .active, "transferring", verified: 5 << 20, speed: 1_048_576))
    _ = board.update(try Sample.download(id: "d3", .failed, "integrity", verified: 1 << 20))
    #expect(board.sum?.plain == "all 2: 75 %, 15.0 MiB of 20.0 MiB, 1.0 MiB/s, 5 s left")
    _ = board.update(try Sample.download(id: "d2", .finished, "placed", verified: 10 << 20))
    #expect(board.sum == nil)
  }

  @Test("while the agent is away no speed is shown, and no time")
  func away() throws {
    var board = DownloadBoard()
    _ = board.update(try Sample.download(verified: 5 << 20, speed: 2_097_152, timeRemaining: 2.5))
    #expect(board.lines(columns: 100, rows: 5, inColor: false)[0].contains("MiB/s"))
    board.stop()
    let line = board.lines(columns: 100, rows: 5, inColor: false)[0]
    #expect(!line.contains("/s") && !line.contains("left") && line.contains("50 %"))
  }

  @Test("what is known by a title is called by it")
  func title() throws {
    var download = try Sample.download(.finished, "placed", verified: 10 << 20)
    download.title = "Heroes nº 42\u{202E}"
    #expect(download.line.plain == "Heroes nº 42 1.0: 100 %, 10.0 MiB of 10.0 MiB, finished")
  }

  @Test("a new state or reason is news, progress alone is not")
  func news() throws {
    var board = DownloadBoard()
    #expect(board.update(try Sample.download(.waiting, "queued")))
    #expect(board.update(try Sample.download(.active, "transferring")))
    #expect(!board.update(try Sample.download(.active, "transferring", verified: 1 << 20)))
    #expect(board.update(try Sample.download(.active, "placing", verified: 10 << 20)))
    #expect(board.isLive)
    #expect(board.update(try Sample.download(.finished, "placed", verified: 10 << 20)))
    #expect(!board.isLive)
  }

  @Test("colors come by state, and only when they are wanted")
  func colors() throws {
    var board = DownloadBoard()
    _ = board.update(try Sample.download(.failed, "integrity"))
    #expect(board.lines(columns: 80, rows: 5, inColor: true)[0].hasPrefix("\u{1B}[31m"))
    #expect(!board.lines(columns: 80, rows: 5, inColor: false)[0].contains("\u{1B}"))
  }

  @Test("a log has a line for every change of state and every whole tenth, and no other")
  func log() throws {
    var log = DownloadLog()
    var lines: [String] = []
    for (state, reason, percent) in [
      (DownloadStatus.State.waiting, "queued", 0), (.waiting, "queued", 0), (.active, "transferring", 0),
      (.active, "transferring", 4), (.active, "transferring", 9), (.active, "transferring", 13),
      (.active, "transferring", 19), (.active, "transferring", 8), (.active, "transferring", 12),
      (.active, "transferring", 35), (.active, "placing", 100), (.finished, "placed", 100),
    ] {
      let download = try Sample.download(state, reason, verified: Int64(percent) * 100, total: 10_000)
      if let line = log.line(for: download) { lines.append(line) }
    }
    #expect(
      lines.map { $0.drop { $0 != ":" } } == [
        ": 0 %, 0 B of 9.8 KiB, waits for its turn", ": 0 %, 0 B of 9.8 KiB", ": 13 %, 1.3 KiB of 9.8 KiB",
        ": 35 %, 3.4 KiB of 9.8 KiB", ": 100 %, 9.8 KiB of 9.8 KiB, placing",
        ": 100 %, 9.8 KiB of 9.8 KiB, finished",
      ])
  }
}

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

  @Test("columns that have no room on a terminal stand below their row, with their titles")
  func below() {
    #expect(
      table.lines(width: 12) == ["NAME", "漫画", "  SIZE 7 B", "  NOTE wide", "comic", "  SIZE 12", "  KiB"])
  }

  @Test("wide texts are shortened before a column leaves the row; times and numbers are not")
  func shortened() {
    let table = TextTable(
      columns: [.text("PRODUCT"), .text("PLACED"), .number("SIZE"), .text("TITLE")],
      rows: [["com.example.heroes.issue42", "2026-11-22 06:10:05", "12 KiB", "The long way home, part one"]])
    #expect(table.lines(width: 61).allSatisfy { TextWidth.of($0) <= 61 })
    #expect(table.lines(width: 61).count == 2)
    #expect(table.lines(width: 61)[1].contains("2026-11-22 06:10:05  12 KiB  The long"))
  }

  @Test(
    "names are whole in one line at every width, and no other column makes a line wider",
    arguments: [60, 80, 120, 200])
  func names(width: Int) {
    var random = SplitMix(seed: UInt64(width))
    let long = "com.example.a.publisher.of.many.magazines.the-long-way-home.2026-09"
    for _ in 0..<500 {
      var columns: [TextTable.Column] = []
      for index in 0..<Int.random(in: 1...9, using: &random) {
        columns.append(
          [.text("TEXT\(index)"), .name("NAME\(index)"), .number("NUMBER\(index)")].randomElement(
            using: &random) ?? .name("N"))
      }
      let row = columns.map { column in
        if column.isName { return String(long.suffix(Int.random(in: 1...long.count, using: &random))) }
        if column.isNumber { return "\(Int.random(in: 0...9999, using: &random)) KiB" }
        return String(repeating: "word ", count: Int.random(in: 0...20, using: &random)) + "end"
      }
      let lines = TextTable(columns: columns, rows: [row]).lines(width: width)
      for (column, cell) in zip(columns, row) where column.isName {
        #expect(lines.dropFirst().contains { $0.contains(cell) }, "\(cell) at \(width)")
      }
      for line in lines.dropFirst() where TextWidth.of(line) > width {
        // One name alone is wider.
        #expect(line.split(separator: " ").contains { TextWidth.of(String($0)) > width - 12 }, "\(line)")
      }
    }
  }

  @Test("what another command takes is a name in every table of every command")
  func columnsOfCommands() throws {
    let words = [
      "PRODUCT", "VERSION", "TRANSACTION", "DEVICE", "GRANT", "DOWNLOAD", "PUBLICATION", "TIER", "STORE",
      "SUBJECT",
    ]
    var names = 0
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../Sources/pullbox/Commands")
    for file in try FileManager.default.contentsOfDirectory(at: root, includingPropertiesForKeys: nil) {
      let text = try String(contentsOf: file, encoding: .utf8)
      for word in words {
        #expect(!text.contains(".text(\"\(word)\")"), "\(file.lastPathComponent): \(word)")
        names += text.split(separator: ".name(\"\(word)\")", omittingEmptySubsequences: false).count - 1
      }
    }
    #expect(names > 20)
  }

  @Test("a sentence that has no room in its column is shown whole below its row, a short one stays")
  func sentence() {
    let table = TextTable(
      columns: [.text("DOWNLOAD"), .number("DONE"), .sentence("STATE")],
      rows: [
        ["d1", "100 %", "finished"],
        ["d2", "8 %", "failed: The server knows no store of that name"],
      ])
    #expect(
      table.lines(width: 30) == [
        "DOWNLOAD   DONE  STATE",
        "d1        100 %  finished",
        "d2          8 %",
        "  failed: The server knows no",
        "  store of that name",
      ])
    #expect(table.lines(width: 80)[2] == "d2          8 %  failed: The server knows no store of that name")
  }
}
