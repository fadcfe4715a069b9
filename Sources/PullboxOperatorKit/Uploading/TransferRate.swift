public import CoreTypes

/// Estimates a transfer's speed over the last seconds, and how long the rest will take. A pure value: the
/// caller brings the time.
public struct TransferRate: Sendable {
  /// Samples that lie further back do not count any more.
  public static let window = Duration.seconds(5)
  /// There is no estimate before this much time was seen: the first moments say little.
  public static let shortest = Duration.milliseconds(500)

  private var samples: [(at: MonotonicInstant, done: ByteCount)] = []

  /// Without samples there is no estimate.
  public init() {}

  /// Records that `done` bytes are transferred. `done` counts from the beginning; a step back starts the
  /// measuring again.
  public mutating func add(_ done: ByteCount, at now: MonotonicInstant) {
    if let last = samples.last, done < last.done { samples.removeAll() }
    samples.append((now, done))
    // One sample from before the window stays: the window starts between it and the next.
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// Bytes a second; nil before ``shortest`` has passed.
  public var speed: ByteCount? {
    guard let first = samples.first, let last = samples.last else { return nil }
    let seconds = (last.at - first.at).inSeconds
    guard seconds >= Self.shortest.inSeconds else { return nil }
    return ByteCount(Int64(clamping: Double((last.done - first.done).rawValue) / seconds))
  }

  /// Until `total` bytes are transferred; nil while nothing moves.
  public func timeRemaining(to total: ByteCount) -> Duration? {
    guard let speed, speed > .zero, let last = samples.last else { return nil }
    return .seconds(max(0, Double((total - last.done).rawValue)) / Double(speed.rawValue))
  }
}
