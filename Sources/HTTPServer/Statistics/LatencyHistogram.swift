/// How often something took how long. The bounds are powers of two in nanoseconds, from 16 µs to 17 s, so that finding one
/// takes a single instruction.
public struct LatencyHistogram: Sendable, Hashable {
  private static let firstShift = 14
  static let bucketCount = 22

  /// Upper bounds of all buckets but the last, in nanoseconds; ascending.
  public static var bounds: [UInt64] { (0..<bucketCount - 1).map { 1 << UInt64(firstShift + $0) } }

  /// One count for each bound, of what took at most so long and longer than the bound before, and one for what took longer
  /// than the last.
  public internal(set) var counts = [UInt64](repeating: 0, count: bucketCount)
  /// Nanoseconds of all together.
  public internal(set) var sum: UInt64 = 0

  public var total: UInt64 { counts.reduce(0, +) }

  public init() {}

  static func bucket(_ nanoseconds: UInt64) -> Int {
    let bits = 64 - (max(nanoseconds, 1) - 1).leadingZeroBitCount
    return min(max(bits - firstShift, 0), bucketCount - 1)
  }
}
