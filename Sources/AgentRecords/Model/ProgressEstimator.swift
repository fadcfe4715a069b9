package import CoreTypes

/// Speed and time remaining of one download, on a clock that never jumps. Fed with the bytes received so far;
/// what was received twice counts for the speed and never for the progress.
package struct ProgressEstimator: Hashable, Sendable {
  package struct Estimate: Hashable, Sendable {
    /// Bytes a second over the window; 0 when nothing moves.
    package var speed: Double
    /// Seconds; nil while unknown.
    package var timeRemaining: Double?
    /// For how long nothing has arrived; nil while something does.
    var stall: Duration?

    package init(speed: Double, timeRemaining: Double? = nil, stall: Duration? = nil) {
      self.speed = speed
      self.timeRemaining = timeRemaining
      self.stall = stall
    }
  }

  private struct Sample: Hashable {
    var at: MonotonicInstant
    var bytes: ByteCount
  }

  /// How far back the speed looks.
  static let window: Duration = .seconds(8)
  /// Below this, two samples tell more about buffers than about the network.
  static let shortestSpan: Duration = .seconds(1)

  /// When nothing has arrived for so long, what arrived before says nothing of what comes.
  static let longestSilence: Duration = .seconds(3)

  private var samples: [Sample] = []
  /// When the last bytes came, or the first sample.
  private var lastArrival: MonotonicInstant?

  package init() {}

  /// `received` never decreases; a sample that is not later than the last replaces it.
  package mutating func record(received: ByteCount, at now: MonotonicInstant) {
    if samples.last.map({ $0.bytes < received }) ?? true { lastArrival = now }
    if let last = samples.last, last.at >= now {
      samples[samples.count - 1].bytes = max(last.bytes, received)
      return
    }
    samples.append(Sample(at: now, bytes: received))
    // One sample from before the window stays: it is where the window's first bytes are counted from.
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// After a pause the time that passed in it counts for nothing.
  package mutating func reset() {
    samples.removeAll(keepingCapacity: true)
    lastArrival = nil
  }

  /// - Parameter remaining: bytes that are still to come; nil where the length is not known.
  package func estimate(remaining: ByteCount?, at now: MonotonicInstant) -> Estimate {
    guard let first = samples.first, let last = samples.last else { return Estimate(speed: 0) }
    if let lastArrival, now - lastArrival >= Self.longestSilence, remaining.map({ $0 > .zero }) ?? true {
      return Estimate(speed: 0, stall: now - lastArrival)
    }
    let span = now - first.at
    guard span >= Self.shortestSpan else { return Estimate(speed: 0) }
    let speed = Double((last.bytes - first.bytes).rawValue) / span.inSeconds
    guard let remaining else { return Estimate(speed: speed) }
    if remaining <= .zero { return Estimate(speed: speed, timeRemaining: 0) }
    guard speed > 0 else { return Estimate(speed: 0) }
    return Estimate(speed: speed, timeRemaining: Double(remaining.rawValue) / speed)
  }

  /// 0 to 1, and 1 only when every byte is verified.
  static func fraction(verified: ByteCount, of total: ByteCount?) -> Double {
    guard let total, total > .zero else { return 0 }
    if verified >= total { return 1 }
    let fraction = Double(verified.rawValue) / Double(total.rawValue)
    return min(max(fraction, 0), 1.0.nextDown)
  }
}
