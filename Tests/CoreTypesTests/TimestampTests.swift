import CoreTypes
import Foundation
import Testing

@Suite struct TimestampTests {
  @Test(
    "RFC 3339 is read as its section 5.8 means it",
    arguments: [
      ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"),
      ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"),
      ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"),
      ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"),
      ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870Z"),
    ])
  func sectionFiveEight(text: String, utc: String) {
    #expect(Timestamp(rfc3339: text)?.rfc3339 == utc)
  }

  @Test(
    "other spellings of a date are read too",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01t00:00:00z", 0), ("1970-01-01T01:30:00+0130", 0),
      ("1969-12-31T23:30:00-0030", 0), ("1970-01-01T00:00:00-00:00", 0), ("1970-01-01T00:00:00.1Z", 100),
      ("1970-01-01T00:00:00.0019Z", 1), ("1970-01-01T00:00:00.123456789Z", 123),
      ("1969-12-31T23:59:59.999Z", -1), ("2000-02-29T12:00:00Z", 951_825_600_000),
      ("2026-11-21T08:30:00.000Z", 1_795_249_800_000), ("2038-01-19T03:14:08Z", 2_147_483_648_000),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func milliseconds(text: String, milliseconds: Int64) {
    #expect(Timestamp(rfc3339: text) == Timestamp(millisecondsSinceEpoch: milliseconds))
  }

  @Test(
    "anything else is refused",
    arguments: [
      "", "2026", "2026-11-21", "2026-11-21T08:30Z", "2026-11-21T08:30:00", "2026-11-21 08:30:00Z",
      "2026-11-21T08:30:00.Z", "2026-11-21T08:30:00ZZ", " 2026-11-21T08:30:00Z", "2026-11-21T08:30:00Z ",
      "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
      "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:61Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60",
      "2026-01-01T00:00:00+1", "2026-01-01T00:00:00+01", "+026-01-01T00:00:00Z", "-001-01-01T00:00:00Z",
      "2026-1-01T00:00:00Z", "２026-01-01T00:00:00Z", "2026-01-01T00:00:00,5Z",
      "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z",
    ])
  func refused(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
  }

  @Test("every day of four centuries is written and read back as itself, and follows the one before it")
  func calendar() throws {
    var moment = try #require(Timestamp(year: 1899, month: 12, day: 31))
    var weekday = 0
    for _ in 0..<146_097 {
      let date = moment.utc
      #expect(date.weekday == weekday)
      #expect(Timestamp(year: date.year, month: date.month, day: date.day) == moment)
      let next = (moment + .seconds(86_400)).utc
      let isMonthOver = date.day == Timestamp.daysIn(month: date.month, year: date.year)
      #expect(next.day == (isMonthOver ? 1 : date.day + 1))
      #expect(next.month == (isMonthOver ? date.month % 12 + 1 : date.month))
      moment = moment + .seconds(86_400)
      weekday = (weekday + 1) % 7
    }
    #expect(moment.rfc3339 == "2299-12-31T00:00:00.000Z")
  }

  @Test(
    "the weekday is known",
    arguments: [
      ("1970-01-01T00:00:00Z", 4), ("1969-12-31T23:59:59Z", 3), ("2000-02-29T00:00:00Z", 2),
      ("2026-11-21T00:00:00Z", 6), ("2026-11-22T00:00:00Z", 0),
    ])
  func weekday(text: String, weekday: Int) {
    #expect(Timestamp(rfc3339: text)?.utc.weekday == weekday)
  }

  @Test(
    "whole seconds are rounded down, before the epoch as well",
    arguments: [(0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2)] as [(Int64, Int64)])
  func seconds(milliseconds: Int64, seconds: Int64) {
    #expect(Timestamp(millisecondsSinceEpoch: milliseconds).secondsSinceEpoch == seconds)
  }

  @Test("dates at the end of time do not trap") func extremes() {
    let last = Timestamp(millisecondsSinceEpoch: .max)
    let first = Timestamp(millisecondsSinceEpoch: .min)
    #expect(last + .seconds(1) == last)
    #expect(first - .seconds(1) == first)
    #expect(first + .seconds(-1) == first)
    #expect(last - .seconds(-1) == last)
    #expect(last - first == .milliseconds(Int64.max))
    #expect(first - last == .milliseconds(Int64.min))
    #expect(last + Duration.seconds(Int64.max) == last)
    #expect(last.utc.month == 8)
    #expect(first.secondsSinceEpoch == -9_223_372_036_854_776)
  }

  @Test("in JSON it is its RFC 3339 text") func json() throws {
    let moments = [Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)]
    let data = try JSONEncoder().encode(moments)
    #expect(String(decoding: data, as: UTF8.self) == #"["2026-11-21T08:30:00.000Z"]"#)
    #expect(try JSONDecoder().decode([Timestamp].self, from: data) == moments)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([Timestamp].self, from: Data(#"["yesterday"]"#.utf8))
    }
  }
}
