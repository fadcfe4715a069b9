import Commerce
import CoreTypes
import Testing

@testable import SandboxStore

/// The contracted periods of Apple's sandbox and of StoreKitTest, as docs/sandbox-store.md lists them.
@Suite("The length of a month")
struct StoreCalendarTests {
  static let start = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  /// The length of a month, then seconds of a week, 1, 2, 3 and 6 months, and a year.
  static let table: [(month: String, seconds: [Int64])] = [
    ("5m", [180, 300, 600, 900, 1800, 3600]),
    ("3m", [180, 180, 360, 540, 1080, 2160]),
    ("15m", [300, 900, 1800, 2700, 5400, 10_800]),
    ("30m", [600, 1800, 3600, 5400, 10_800, 21_600]),
    ("1h", [900, 3600, 7200, 10_800, 21_600, 43_200]),
    ("30s", [10, 30, 60, 90, 180, 360]),
  ]

  private func length(_ period: String, month: String) throws -> Duration {
    let calendar = try #require(StoreCalendar(month: month, renewals: 6))
    let end = calendar.end(of: try #require(BillingPeriod(period)), from: Self.start)
    return try #require(end) - Self.start
  }

  @Test("every period has the length that the table gives for its month", arguments: table)
  func contracted(month: String, seconds: [Int64]) throws {
    let lengths = try ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"].map { try length($0, month: month) }
    #expect(lengths == seconds.map { .seconds($0) })
  }

  @Test("a month that is not in the table has the proportions of five minutes, and no period is under 500 ms")
  func proportion() throws {
    #expect(try length("P1W", month: "10m") == .seconds(360))
    #expect(try length("P1Y", month: "2s") == .seconds(24))
    #expect(try length("P1W", month: "2s") == .milliseconds(1200))
    #expect(try length("P1D", month: "2s") == .milliseconds(500))
  }

  @Test(
    "grace is two and a half minutes of five and 2:34 of a week, retry ten; at thirty seconds 15, 9 and 60 seconds"
  )
  func graceAndRetry() throws {
    let month = try #require(BillingPeriod("P1M"))
    let week = try #require(BillingPeriod("P1W"))
    for (name, ofMonth, ofWeek, retry) in [("5m", 150, 154, 600), ("30s", 15, 9, 60)] {
      let calendar = try #require(StoreCalendar(month: name, renewals: 6))
      #expect(calendar.graceEnd(after: month, from: Self.start) - Self.start == .seconds(ofMonth))
      #expect(calendar.graceEnd(after: week, from: Self.start) - Self.start == .seconds(ofWeek))
      #expect(calendar.retryEnd(from: Self.start) - Self.start == .seconds(retry))
    }
  }

  @Test(
    "the day of an approval is a thirtieth of a month, half a second at least, and a day of real ones",
    arguments: [("5m", 10_000), ("1h", 120_000), ("30s", 1000), ("5s", 500), ("real", 86_400_000)])
  func approval(month: String, milliseconds: Int64) throws {
    let calendar = try #require(StoreCalendar(month: month, renewals: 6))
    #expect(calendar.approvalEnd(from: Self.start) - Self.start == .milliseconds(milliseconds))
  }

  @Test("the real month is the calendar's, with 16 days of grace, 6 after a week, and 60 days of retry")
  func real() throws {
    let calendar = try #require(StoreCalendar(month: "real", renewals: 0))
    let date = try #require(Timestamp(rfc3339: "2026-01-31T10:00:00Z"))
    let month = try #require(BillingPeriod("P1M"))
    #expect(calendar.end(of: month, from: date) == Timestamp(rfc3339: "2026-02-28T10:00:00Z"))
    #expect(calendar.graceEnd(after: month, from: date) - date == .seconds(16 * 86_400))
    #expect(
      calendar.graceEnd(after: try #require(BillingPeriod("P1W")), from: date) - date == .seconds(6 * 86_400))
    #expect(calendar.retryEnd(from: date) - date == .seconds(60 * 86_400))
  }

  @Test(
    "a month is real or from 2s to 31 days",
    arguments: ["", "5", "m", "1s", "0m", "-5m", "5 m", "5d", "745h", "99999999s", "Real"])
  func refused(text: String) {
    #expect(StoreCalendar(month: text, renewals: 6) == nil)
  }

  @Test("the shortest month is 2s, the longest 744h, and renewals are from 0 to 100")
  func bounds() {
    #expect(StoreCalendar(month: "2s", renewals: 0) != nil)
    #expect(StoreCalendar(month: "744h", renewals: 100) != nil)
    #expect(StoreCalendar(month: "2s", renewals: -1) == nil)
    #expect(StoreCalendar(month: "2s", renewals: 101) == nil)
  }
}
