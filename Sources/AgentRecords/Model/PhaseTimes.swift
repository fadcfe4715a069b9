package import CoreTypes

/// The time that this device takes for the steps behind a transfer, by what they have taken before. Each measurement
/// counts for a quarter of what comes out.
package struct PhaseTimes: Hashable, Sendable {
  /// Seconds to unpack what is left of a byte and to move it to its place; nil before a package was placed.
  package private(set) var placing: Double?
  /// Seconds until the server has taken in a report; nil before one was.
  package private(set) var reporting: Double?

  /// The smallest package whose placing is measured: below it, what is the same for all counts for most.
  static let smallestPackage = ByteCount.mebibytes(4)
  /// A step that takes so much longer than it did before says nothing of when it ends.
  static let longestDelay: Duration = .seconds(10)

  package init(placing: Double? = nil, reporting: Double? = nil) {
    self.placing = placing
    self.reporting = reporting
  }

  /// A package of `length` was placed in `duration`.
  package mutating func notePlacing(of length: ByteCount, in duration: Duration) {
    guard length >= Self.smallestPackage else { return }
    placing = Self.blend(placing, duration.inSeconds / Double(length.rawValue))
  }

  /// A report was taken in after `duration`.
  package mutating func noteReport(in duration: Duration) {
    reporting = Self.blend(reporting, duration.inSeconds)
  }

  /// Seconds behind the transfer of a package of `length`. What was never measured counts as nothing.
  package func tail(of length: ByteCount) -> Double {
    (placing ?? 0) * Double(length.rawValue) + (reporting ?? 0)
  }

  /// Seconds that are left of placing a package, and of its report, where placing has taken `elapsed` already. Nil where it
  /// was never measured, or takes ten seconds more than it should.
  package func remaining(ofPlacing length: ByteCount, after elapsed: Duration) -> Double? {
    guard let placing else { return nil }
    return Self.left(of: placing * Double(length.rawValue), after: elapsed).map { $0 + (reporting ?? 0) }
  }

  /// Seconds that are left of a report, by the same rules.
  package func remaining(ofReportAfter elapsed: Duration) -> Double? {
    reporting.flatMap { Self.left(of: $0, after: elapsed) }
  }

  /// Whether one of the times is another by a fifth, or was not known.
  package func differs(from other: PhaseTimes) -> Bool {
    Self.differs(placing, other.placing) || Self.differs(reporting, other.reporting)
  }

  private static func differs(_ time: Double?, _ other: Double?) -> Bool {
    guard let time, let other else { return (time == nil) != (other == nil) }
    return abs(time - other) * 5 > other
  }

  private static func left(of expected: Double, after elapsed: Duration) -> Double? {
    let late = elapsed.inSeconds - expected
    return late >= longestDelay.inSeconds ? nil : max(0, -late)
  }

  private static func blend(_ known: Double?, _ measured: Double) -> Double {
    guard let known else { return measured }
    return known + (measured - known) / 4
  }
}
