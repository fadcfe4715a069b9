import CoreTypes
import Testing

@testable import HTTPParsing

/// RFC 9110 §5.6.7.
struct HTTPDateTests {
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  @Test("dates are written and read as the RFC's example")
  func dates() {
    #expect(HTTPDate.format(Timestamp(millisecondsSinceEpoch: 784_111_777_000)) == Self.date)
    for text in [Self.date, "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 29 Feb 2024 23:59:59 GMT"] {
      let bytes = Array(text.utf8)
      #expect(HTTPDate.parse(bytes.span).map(HTTPDate.format) == text)
    }
    for text in [
      "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 6 Nov 1994 08:49:37 GMT", "sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sund, 06-Nov-94 08:49:37 GMT",
      "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
      "Mon, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT", "",
    ] {
      let bytes = Array(text.utf8)
      #expect(HTTPDate.parse(bytes.span) == nil, "\(text)")
    }
  }

  @Test("the obsolete forms of dates are read, and a year of two digits is at most 50 years ahead")
  func obsoleteDates() {
    let now = Timestamp(millisecondsSinceEpoch: 1_795_000_000_000)  // 2026
    for (text, meaning) in [
      ("Sunday, 06-Nov-94 08:49:37 GMT", Self.date), ("Sun Nov  6 08:49:37 1994", Self.date),
      ("Sat Nov 26 08:49:37 1994", "Sat, 26 Nov 1994 08:49:37 GMT"),
      ("Wednesday, 01-Jan-76 00:00:00 GMT", "Wed, 01 Jan 2076 00:00:00 GMT"),
      ("Saturday, 01-Jan-77 00:00:00 GMT", "Sat, 01 Jan 1977 00:00:00 GMT"),
    ] {
      let bytes = Array(text.utf8)
      #expect(HTTPDate.parse(bytes.span, now: now).map(HTTPDate.format) == meaning, "\(text)")
    }
  }
}
