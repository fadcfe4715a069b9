import CoreTypes
import Testing

@testable import AgentRecords

/// Windows in local time. The changes of the clocks are those of the tz database: Europe/Berlin goes from 02:00 to 03:00 at
/// 2026-03-29T01:00Z, and from 03:00 to 02:00 at 2026-10-25T01:00Z; Asia/Beirut leaves out 2026-03-29 00:00 to 01:00 (at
/// 2026-03-28T22:00Z).
@Suite struct DownloadWindowsTests {
  private static func zone(_ winter: Int, _ summer: ClosedRange<String>) -> LocalCalendar {
    let never = Timestamp(millisecondsSinceEpoch: 0)
    let start = Timestamp(rfc3339: summer.lowerBound) ?? never
    let end = Timestamp(rfc3339: summer.upperBound) ?? never
    return LocalCalendar { start <= $0 && $0 < end ? winter + 3600 : winter }
  }
  private let berlin = zone(3600, "2026-03-29T01:00:00Z"..."2026-10-25T01:00:00Z")
  private let beirut = zone(7200, "2026-03-28T22:00:00Z"..."2026-10-24T21:00:00Z")

  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

  /// The changes behind `start`, up to the first that is not before `end`.
  private func changes(
    _ texts: [String], _ calendar: LocalCalendar, from start: String, to end: String
  ) throws -> [String] {
    let windows = try DownloadWindows(texts)
    var (moment, last) = (try time(start), try time(end))
    var found: [String] = []
    while let next = windows.nextChange(after: moment, calendar), next < last {
      found.append(next.rfc3339)
      moment = next
    }
    return found
  }

  @Test("a window begins and ends by the clock on the wall") func ordinary() throws {
    #expect(
      try changes(["01:00-06:00"], berlin, from: "2026-11-20T12:00:00.500Z", to: "2026-11-22T00:00:00Z")
        == ["2026-11-21T00:00:00.000Z", "2026-11-21T05:00:00.000Z"])
    let windows = try DownloadWindows(["01:00-06:00"])
    #expect(windows.contains(try time("2026-11-21T00:00:00Z"), berlin))
    #expect(windows.contains(try time("2026-11-21T04:59:59.999Z"), berlin))
    #expect(!windows.contains(try time("2026-11-21T05:00:00Z"), berlin))
  }

  @Test("an hour that is left out opens nothing, and shortens what lies around it") func missing() throws {
    #expect(
      try changes(["02:15-02:45"], berlin, from: "2026-03-28T12:00:00Z", to: "2026-03-31T00:00:00Z")
        == ["2026-03-30T00:15:00.000Z", "2026-03-30T00:45:00.000Z"])
    #expect(
      try changes(["01:00-06:00"], berlin, from: "2026-03-28T12:00:00Z", to: "2026-03-29T12:00:00Z")
        == ["2026-03-29T00:00:00.000Z", "2026-03-29T04:00:00.000Z"], "four hours")
    #expect(
      try changes(["02:30-04:00"], berlin, from: "2026-03-28T12:00:00Z", to: "2026-03-29T12:00:00Z")
        == ["2026-03-29T01:00:00.000Z", "2026-03-29T02:00:00.000Z"], "from 03:00 on")
    #expect(
      try changes(["01:00-02:30"], berlin, from: "2026-03-28T12:00:00Z", to: "2026-03-29T12:00:00Z")
        == ["2026-03-29T00:00:00.000Z", "2026-03-29T01:00:00.000Z"], "until the gap")
  }

  @Test("an hour that comes twice opens twice") func repeated() throws {
    #expect(
      try changes(["02:15-02:45"], berlin, from: "2026-10-24T12:00:00Z", to: "2026-10-25T12:00:00Z")
        == [
          "2026-10-25T00:15:00.000Z", "2026-10-25T00:45:00.000Z", "2026-10-25T01:15:00.000Z",
          "2026-10-25T01:45:00.000Z",
        ])
    #expect(
      try changes(["01:00-06:00"], berlin, from: "2026-10-24T12:00:00Z", to: "2026-10-25T12:00:00Z")
        == ["2026-10-24T23:00:00.000Z", "2026-10-25T05:00:00.000Z"], "six hours")
    #expect(
      try changes(["01:00-02:30"], berlin, from: "2026-10-24T12:00:00Z", to: "2026-10-25T12:00:00Z")
        == [
          "2026-10-24T23:00:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-25T01:00:00.000Z",
          "2026-10-25T01:30:00.000Z",
        ])
  }

  @Test("days name when a window begins, also one that goes on over midnight and over Saturday") func days()
    throws
  {
    let utc = LocalCalendar { _ in 0 }
    // 2026-11-20 is a Friday.
    #expect(
      try changes(["sat,sun 00:00-24:00"], utc, from: "2026-11-20T00:00:00Z", to: "2026-11-27T00:00:00Z")
        == ["2026-11-21T00:00:00.000Z", "2026-11-23T00:00:00.000Z"])
    #expect(
      try changes(["fri-sat 22:00-06:00"], utc, from: "2026-11-20T00:00:00Z", to: "2026-11-27T00:00:00Z")
        == [
          "2026-11-20T22:00:00.000Z", "2026-11-21T06:00:00.000Z", "2026-11-21T22:00:00.000Z",
          "2026-11-22T06:00:00.000Z",
        ])
    #expect(
      try changes(["sun-mon 23:00-00:00"], utc, from: "2026-11-20T00:00:00Z", to: "2026-11-26T00:00:00Z")
        == [
          "2026-11-22T23:00:00.000Z", "2026-11-23T00:00:00.000Z", "2026-11-23T23:00:00.000Z",
          "2026-11-24T00:00:00.000Z",
        ])
    #expect(
      try DownloadWindows(["00:00-12:00", "12:00-24:00"]).nextChange(
        after: try time("2026-11-20T00:00:00Z"), utc) == nil)
  }

  @Test(
    "what is no window is refused, with its place",
    arguments: [
      "", "1:00-06:00", "01:00", "01:00-01:00", "24:00-06:00", "01:60-06:00", "01:00-24:01", "01:00–06:00",
      "sat 01:00 - 06:00", "saturday 01:00-06:00", "sat,sat 01:00-06:00", "mon-mon 01:00-06:00",
      "sat,  01:00-06:00",
      "mon-wed,tue 01:00-06:00", " 01:00-06:00", "+1:00-06:00",
    ])
  func refused(text: String) {
    let error = #expect(throws: DownloadWindows.SyntaxError.self) {
      try DownloadWindows(["01:00-06:00", text])
    }
    #expect(error?.index == 1)
  }

  @Test("no window, and too many, are refused") func counts() {
    #expect(throws: DownloadWindows.SyntaxError.self) { try DownloadWindows([]) }
    #expect(throws: DownloadWindows.SyntaxError.self) {
      try DownloadWindows(Array(repeating: "01:00-06:00", count: DownloadWindows.maximumCount + 1))
    }
  }

  @Test("a day begins behind a midnight that is left out") func midnight() throws {
    #expect(beirut.start(of: .init(year: 2026, month: 3, day: 29)) == (try time("2026-03-28T22:00:00Z")))
    #expect(beirut.start(of: .init(year: 2026, month: 3, day: 30)) == (try time("2026-03-29T21:00:00Z")))
    #expect(berlin.start(of: .init(year: 2026, month: 10, day: 26)) == (try time("2026-10-25T23:00:00Z")))
  }
}
