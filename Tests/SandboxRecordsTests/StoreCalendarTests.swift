import Commerce
import CoreTypes
import Testing

@testable import SandboxRecords

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

  @Test(
    "by the calendar a renewal falls on the day of the first payment, and on the last day of a month that has none",
    arguments: [
      ("2027-01-31", "P1M", ["02-28", "03-31", "04-30", "05-31"]), ("2028-01-30", "P1M", ["02-29", "03-30"]),
      ("2027-01-28", "P1M", ["02-28", "03-28", "04-28"]), ("2026-11-30", "P3M", ["02-28", "05-30"]),
      ("2027-08-31", "P6M", ["02-29", "08-31"]), ("2028-02-29", "P1Y", ["02-28", "02-28", "02-28", "02-29"]),
      ("2027-01-31", "P1W", ["02-07", "02-14", "02-21", "02-28", "03-07"]),
      ("2027-02-28", "P1M", ["03-28", "04-28"]),
    ])
  func anniversaries(start: String, length: String, ends: [String]) throws {
    let calendar = try #require(StoreCalendar(month: "real", renewals: 12))
    var life = try life(from: start, length: length, by: calendar)
    for end in ends {
      #expect(life.expires.rfc3339.dropFirst(5) == "\(end)T23:59:59.999Z")
      _ = life.advance(by: calendar)
    }
  }

  @Test("what is put off, or paid again after a lapse, has the day of that as its anniversary")
  func newAnniversaries() throws {
    let calendar = try #require(StoreCalendar(month: "real", renewals: 12))
    var putOff = try life(from: "2027-01-31", length: "P1M", by: calendar)
    putOff.extend(by: .seconds(86_400))
    _ = putOff.advance(by: calendar)
    #expect(putOff.expires.rfc3339.hasPrefix("2027-04-01"))
    var lapsed = try life(from: "2027-01-31", length: "P1M", by: calendar)
    lapsed.failRenewals()
    _ = lapsed.advance(by: calendar)
    _ = lapsed.recover(at: try #require(Timestamp(rfc3339: "2027-04-02T00:00:00Z")), by: calendar)
    #expect(lapsed.expires.rfc3339.hasPrefix("2027-05-02"))
    // Within the grace it goes on where it was.
    var late = try life(from: "2027-01-31", length: "P1M", by: calendar)
    late.failRenewals()
    _ = late.advance(by: calendar)
    _ = late.recover(at: try #require(Timestamp(rfc3339: "2027-03-05T00:00:00Z")), by: calendar)
    #expect(late.expires.rfc3339.hasPrefix("2027-03-31"))
  }

  private func life(
    from day: String, length: String, by calendar: StoreCalendar
  ) throws -> SubscriptionLifecycle {
    let start = try #require(Timestamp(rfc3339: "\(day)T23:59:59.999Z"))
    let period = try #require(BillingPeriod(length))
    let product = try #require(ProductIdentifier("com.example.magazine"))
    let end = try #require(calendar.end(of: period, from: start))
    return SubscriptionLifecycle(
      .init(plan: SubscriptionPlan(product: product, period: period, price: nil), start: start, end: end),
      renewals: 12)
  }
}
