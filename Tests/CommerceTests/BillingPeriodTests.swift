import Commerce
import CoreTypes
import PullboxTesting
import Testing

@Suite("Billing periods")
struct BillingPeriodTests {
  @Test(
    "P, a number from 1 to 999 and a unit make a period",
    arguments: [
      ("P1D", 1, .day), ("P7D", 7, .day), ("P1W", 1, .week), ("P1M", 1, .month), ("P2M", 2, .month),
      ("P6M", 6, .month), ("P1Y", 1, .year), ("P999D", 999, .day), ("P999Y", 999, .year),
    ] as [(String, Int, BillingPeriod.Unit)])
  func allowed(text: String, count: Int, unit: BillingPeriod.Unit) throws {
    let period = try #require(BillingPeriod(text))
    #expect(period.count == count)
    #expect(period.unit == unit)
    #expect(period.description == text)
  }

  @Test(
    "anything else makes none",
    arguments: [
      "", "P", "M", "1M", "PM", "P1", "P0M", "P000D", "P1000D", "P-1M", "P+1M", "P1.5M", "P1m", "p1M", "P1H",
      "P1S", "PT1M", "P1M1D", "P1Y2M", "PP1M", " P1M", "P1M ", "P 1M", "P１M", "P1М", "P1M\u{301}", "R1/P1M",
    ])
  func refused(text: String) {
    #expect(BillingPeriod(text) == nil)
  }

  @Test("zeros in front are read and not written")
  func leadingZeros() {
    #expect(BillingPeriod("P007D") == BillingPeriod("P7D"))
    #expect(BillingPeriod("P007D")?.description == "P7D")
  }

  @Test("a period is what is written, not how long it lasts: a year is not twelve months")
  func equality() {
    #expect(BillingPeriod("P12M") != BillingPeriod("P1Y"))
    #expect(BillingPeriod("P7D") != BillingPeriod("P1W"))
  }

  @Test(
    "a month later is the same day, or the last day of a month that is too short",
    arguments: [
      ("2026-01-28", "P1M", "2026-02-28"), ("2026-01-29", "P1M", "2026-02-28"),
      ("2026-01-31", "P1M", "2026-02-28"), ("2028-01-29", "P1M", "2028-02-29"),
      ("2028-01-30", "P1M", "2028-02-29"), ("2026-02-28", "P1M", "2026-03-28"),
      ("2026-03-31", "P1M", "2026-04-30"), ("2026-04-30", "P1M", "2026-05-30"),
      ("2026-05-31", "P1M", "2026-06-30"), ("2026-07-31", "P1M", "2026-08-31"),
      ("2026-08-31", "P1M", "2026-09-30"), ("2026-10-31", "P1M", "2026-11-30"),
      ("2026-12-31", "P1M", "2027-01-31"), ("2026-11-30", "P3M", "2027-02-28"),
      ("2026-08-31", "P6M", "2027-02-28"), ("2027-08-31", "P6M", "2028-02-29"),
      ("2026-12-15", "P1M", "2027-01-15"), ("2026-01-31", "P999M", "2109-04-30"),
    ])
  func months(start: String, length: String, end: String) {
    #expect(day(start).adding(period(length)) == day(end))
  }

  @Test(
    "a year later is the same date, but for a leap day",
    arguments: [
      ("2026-02-28", "P1Y", "2027-02-28"), ("2027-02-28", "P1Y", "2028-02-28"),
      ("2028-02-29", "P1Y", "2029-02-28"), ("2028-02-29", "P4Y", "2032-02-29"),
      ("2028-02-29", "P12M", "2029-02-28"), ("1896-02-29", "P8Y", "1904-02-29"),
      // 1900 and 2100 have no leap day, 2000 has one.
      ("1896-02-29", "P4Y", "1900-02-28"), ("2096-02-29", "P4Y", "2100-02-28"),
      ("1996-02-29", "P4Y", "2000-02-29"), ("2026-11-21", "P999Y", "3025-11-21"),
    ])
  func years(start: String, length: String, end: String) {
    #expect(day(start).adding(period(length)) == day(end))
  }

  @Test(
    "days and weeks are counted, across the ends of months, years and Februaries",
    arguments: [
      ("2026-02-28", "P1D", "2026-03-01"), ("2028-02-28", "P1D", "2028-02-29"),
      ("2028-02-29", "P1D", "2028-03-01"), ("2026-12-31", "P1D", "2027-01-01"),
      ("2026-02-22", "P1W", "2026-03-01"), ("2028-02-22", "P1W", "2028-02-29"),
      ("2026-12-28", "P1W", "2027-01-04"), ("2026-01-01", "P365D", "2027-01-01"),
      ("2028-01-01", "P365D", "2028-12-31"), ("2026-01-01", "P52W", "2026-12-31"),
    ])
  func daysAndWeeks(start: String, length: String, end: String) {
    #expect(day(start).adding(period(length)) == day(end))
  }

  @Test("the time of day stays, to the millisecond", arguments: ["P1D", "P1W", "P1M", "P1Y"])
  func timeOfDay(length: String) throws {
    let end = try #require(moment("2026-01-31T23:59:59.999Z").adding(period(length)))
    #expect(end.rfc3339.hasSuffix("T23:59:59.999Z"))
  }

  @Test("the end of two months is not the end of a month added twice")
  func notAdditive() {
    let start = day("2026-01-31")
    #expect(start.adding(period("P2M")) == day("2026-03-31"))
    #expect(start.adding(period("P1M"))?.adding(period("P1M")) == day("2026-03-28"))
  }

  @Test(
    "the last moment of the calendar is reached, and nothing behind it",
    arguments: [
      ("9999-11-30T23:59:59.999Z", "P1M", "9999-12-30T23:59:59.999Z"),
      ("9999-12-30T23:59:59.999Z", "P1D", "9999-12-31T23:59:59.999Z"),
      ("9998-12-31T00:00:00.000Z", "P1Y", "9999-12-31T00:00:00.000Z"),
      ("9999-12-31T00:00:00.000Z", "P1D", nil), ("9999-12-25T00:00:00.000Z", "P1W", nil),
      ("9999-12-01T00:00:00.000Z", "P1M", nil), ("9999-01-01T00:00:00.000Z", "P1Y", nil),
      ("9001-01-01T00:00:00.000Z", "P999Y", nil),
    ] as [(String, String, String?)])
  func endOfTheCalendar(start: String, length: String, end: String?) {
    #expect(moment(start).adding(period(length))?.rfc3339 == end)
  }

  @Test("every period ends after it began, on the same day of the month or that month's last")
  func everyDay() throws {
    var random = SplitMix(seed: 7)
    for _ in 0..<2000 {
      let start = day("2024-01-01") + .seconds(86_400 * Int.random(in: 0..<3000, using: &random))
      let count = Int.random(in: 1...30, using: &random)
      let end = try #require(start.adding(period("P\(count)M")))
      let (from, to) = (start.utc, end.utc)
      #expect(end > start)
      #expect((to.year * 12 + to.month) - (from.year * 12 + from.month) == count)
      let isLastDay = (end + .seconds(86_400)).utc.day == 1
      #expect(to.day == from.day || (to.day < from.day && isLastDay))
    }
  }
}
