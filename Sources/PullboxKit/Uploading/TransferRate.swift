public import CoreTypes

/// How fast something moves, over the last seconds, and how long the rest will take.
public struct TransferRate: Sendable {
  /// What lies further back does not count any more.
  public static let window = Duration.seconds(5)
  /// Before this much was seen nothing is said: the first moments say little.
  public static let shortest = Duration.milliseconds(500)

  private var samples: [(at: MonotonicInstant, done: ByteCount)] = []

  public init() {}

  /// `done` counts from the beginning; a step back starts the measuring again.
  public mutating func add(_ done: ByteCount, at now: MonotonicInstant) {
    if let last = samples.last, done < last.done { samples.removeAll() }
    samples.append((now, done))
    // One sample from before the window stays: the window starts between it and the next.
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// Bytes per second; nil while it cannot be told.
  public var speed: ByteCount? {
    guard let first = samples.first, let last = samples.last else { return nil }
    let seconds = (last.at - first.at).inSeconds
    guard seconds >= Self.shortest.inSeconds else { return nil }
    return ByteCount(Int64(Double((last.done - first.done).rawValue) / seconds))
  }

  /// Until `total`; nil while nothing moves.
  public func timeRemaining(to total: ByteCount) -> Duration? {
    guard let speed, speed > .zero, let last = samples.last else { return nil }
    return .seconds(max(0, Double((total - last.done).rawValue)) / Double(speed.rawValue))
  }
}
