/// Counts durations between fixed bounds, of which each is four times the one before: from 65 µs to 17 s. So few that each route
/// of a service may have one.
public struct DurationHistogram: Hashable, Sendable {
  /// Upper bounds of all buckets but the last, in nanoseconds; ascending.
  public static let bounds: [UInt64] = stride(from: 16, through: 34, by: 2).map { 1 << $0 }

  /// One count for each bound, of what took at most so long and longer than the bound before, and one for what took longer
  /// than the last.
  public private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
  /// Nanoseconds of all together.
  public private(set) var sum: UInt64 = 0

  /// Nothing counted.
  public init() {}

  /// Everything that was counted: the sum of ``counts``.
  public var total: UInt64 { counts.reduce(0, +) }

  /// Counts one duration; a negative one counts as none at all.
  public mutating func add(_ duration: Duration) {
    let nanoseconds = UInt64(max(0, duration.nanoseconds))
    counts[Self.bounds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count] += 1
    sum &+= nanoseconds
  }
}
