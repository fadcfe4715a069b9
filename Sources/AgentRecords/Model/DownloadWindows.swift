package import CoreTypes

/// The times at which downloads may run, in local time. Pure.
///
/// A window is `[DAYS ]HH:MM-HH:MM`: `01:00-06:00`, `sat,sun 00:00-24:00`, `mon-fri 22:00-06:00`. One that ends before it begins goes on
/// over midnight, and belongs to the day on which it begins. A moment lies in a window when the clock on the wall shows a time of it: an
/// hour that is left out when the clocks change opens nothing, and one that comes twice opens twice.
///
/// ```swift
/// let windows = try DownloadWindows(["01:00-06:00"])
/// windows.contains(moment, calendar)
/// windows.nextChange(after: moment, calendar)  // when it opens or closes
/// ```
package struct DownloadWindows: Hashable, Sendable {
  /// Why a text is no window.
  package struct SyntaxError: Error, Hashable, CustomStringConvertible {
    /// The place in the list, from 0.
    package let index: Int
    /// A sentence without a subject: what is wrong and what is expected.
    package let description: String
  }

  /// Windows in one list, at most.
  package static let maximumCount = 32

  private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
  private static let minutesOfDay = 24 * 60

  /// The minutes of a week, from Sunday 00:00, that lie in a window; each range ends within the week.
  private let minutes: [Range<Int>]

  /// Throws for a text that is no window, and for none or too many.
  package init(_ texts: [String]) throws(SyntaxError) {
    guard !texts.isEmpty else { throw SyntaxError(index: 0, description: "names no window") }
    guard texts.count <= Self.maximumCount else {
      throw SyntaxError(
        index: Self.maximumCount, description: "is one of more than \(Self.maximumCount) windows")
    }
    var minutes: [Range<Int>] = []
    for (index, text) in texts.enumerated() {
      guard let ranges = Self.read(text) else {
        throw SyntaxError(
          index: index,
          description:
            "'\(text)' is not [DAYS ]HH:MM-HH:MM, such as 01:00-06:00 or sat,sun 00:00-24:00, with DAYS of mon to sun"
        )
      }
      minutes += ranges
    }
    self.minutes = minutes
  }

  /// Nil for what is no window.
  private static func read(_ text: String) -> [Range<Int>]? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let times = parts.last.flatMap(readTimes) else { return nil }
    let days = parts.count == 2 ? readDays(parts[0]) : Array(0..<7)
    guard let days else { return nil }
    let length = (times.end - times.start + minutesOfDay - 1) % minutesOfDay + 1
    let week = 7 * minutesOfDay
    return days.flatMap { day -> [Range<Int>] in
      let start = day * minutesOfDay + times.start
      let end = start + length
      return end <= week ? [start..<end] : [start..<week, 0..<(end - week)]
    }
  }

  /// The minutes of a day; the end may be 24:00, and is not the beginning.
  private static func readTimes(_ text: Substring) -> (start: Int, end: Int)? {
    let times = text.split(separator: "-", omittingEmptySubsequences: false).map(readTime)
    guard times.count == 2, let start = times[0], let end = times[1], start < minutesOfDay, start != end
    else { return nil }
    return (start, end)
  }

  private static func readTime(_ text: Substring) -> Int? {
    let digits = Array(text.utf8)
    guard digits.count == 5, digits[2] == UInt8(ascii: ":") else { return nil }
    let numbers = [digits[0], digits[1], digits[3], digits[4]].map { Int($0) - 0x30 }
    guard numbers.allSatisfy((0...9).contains) else { return nil }
    let (hour, minute) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
    guard hour < 24 && minute < 60 || hour == 24 && minute == 0 else { return nil }
    return hour * 60 + minute
  }

  /// Such as `sat,sun` and `mon-fri`; nil also where a day is named twice.
  private static func readDays(_ text: Substring) -> [Int]? {
    var found: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false)
        .map { days.firstIndex(of: String($0)) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else {
        return nil
      }
      guard ends.count == 1 || first != last else { return nil }
      found += (0...(last - first + 7) % 7).map { (first + $0) % 7 }
    }
    return Set(found).count == found.count ? found : nil
  }

  /// Whether the moment lies in a window.
  package func contains(_ moment: Timestamp, _ calendar: LocalCalendar) -> Bool {
    let minute = minuteOfWeek(calendar.local(moment))
    return minutes.contains { $0.contains(minute) }
  }

  /// The first moment behind `moment` at which a window begins or ends; nil where the windows are the whole week.
  package func nextChange(after moment: Timestamp, _ calendar: LocalCalendar) -> Timestamp? {
    let isOpen = contains(moment, calendar)
    var moment = moment
    // A week, and a day for a window that the change of the clocks leaves out; a step is no longer than an hour.
    for _ in 0..<(8 * 24 + 2 * Self.maximumCount * 14) {
      let next = step(after: moment, calendar)
      if contains(next, calendar) != isOpen { return next }
      moment = next
    }
    return nil
  }

  /// The next moment at which something may change: the next border of a window, the next change of the offset, or an hour later.
  private func step(after moment: Timestamp, _ calendar: LocalCalendar) -> Timestamp {
    let local = calendar.local(moment)
    let minute = minuteOfWeek(local)
    let passed = Int64(local.second) * 1000 + Int64(local.millisecond)
    let week = 7 * Self.minutesOfDay
    var next = 60
    for border in minutes.flatMap({ [$0.lowerBound, $0.upperBound] }) {
      let distance: Int = (border - minute + 2 * week - 1) % week + 1
      next = min(next, distance)
    }
    let end = moment + .milliseconds(Int64(next) * 60_000 - passed)
    return calendar.nextOffsetChange(after: moment, until: end) ?? end
  }

  private func minuteOfWeek(_ date: UTCDate) -> Int {
    date.weekday * Self.minutesOfDay + date.hour * 60 + date.minute
  }
}
