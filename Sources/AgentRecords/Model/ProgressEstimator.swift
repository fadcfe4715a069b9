package import CoreTypes
import Synchronization

/// Speed and time remaining of one content job, on a clock that never jumps (docs/estimator.md). Fed with the counts of its
/// transfer: what was received twice counts for the speed, and never for the progress.
package struct ProgressEstimator: Hashable, Sendable {
  package struct Estimate: Hashable, Sendable {
    /// Bytes a second; 0 when nothing moves.
    package var speed: Double
    /// Seconds, never below 0; nil while unknown.
    package var timeRemaining: Double?
    /// For how long nothing has arrived; nil while something does.
    package var stall: Duration?

    package init(speed: Double, timeRemaining: Double? = nil, stall: Duration? = nil) {
      self.speed = speed
      self.timeRemaining = timeRemaining
      self.stall = stall
    }
  }

  /// The counts of a transfer at an instant.
  private struct Sample: Hashable {
    var at: MonotonicInstant
    var received: ByteCount
    var verified: ByteCount
  }

  /// An estimate that is shown until it is ``shownFor`` old.
  private struct Shown: Hashable {
    var at: MonotonicInstant
    var estimate: Estimate
  }

  /// Below this, two samples tell more about buffers than about the network.
  static let shortestSpan = 1.0
  /// When nothing has arrived for so long, what arrived before says nothing of what comes.
  static let longestSilence: Duration = .seconds(3)
  /// A connection that went later than so long after it came was no trial, or was one that had shown its worth.
  static let longestTrial: Duration = .seconds(10)
  /// The time for which people see the same numbers.
  static let shownFor: Duration = .seconds(1)
  /// Bytes that are received and not verified, at most: the pieces that all connections of a transfer fill.
  static let mostUnverified = ByteCount.mebibytes(16)

  /// The speed of a transfer over fewer connections than now, of which the last one is perhaps a trial.
  private struct Narrower: Hashable {
    var connections: Int
    var speed: TransferSpeed
    var since: MonotonicInstant
  }

  private var speed = TransferSpeed()
  private var connections = 1
  private var narrower: Narrower?
  private var last: Sample?
  /// When the last bytes came, or the first sample.
  private var lastArrival: MonotonicInstant?
  /// Bytes of pieces that are not whole yet. They are as good as there, unless their piece is wrong or its connection ends.
  private var unverified = ByteCount.zero
  private var shown: Shown?

  package init() {}

  /// `received` never decreases, `verified` does where a piece is damaged. What came in a sample that is not
  /// later than the last counts with the next one. With another number of `connections` than before the way has another speed; one
  /// that was tried and went again leaves the speed of before.
  package mutating func record(
    received: ByteCount, verified: ByteCount, connections: Int = 1, at now: MonotonicInstant
  ) {
    if connections != self.connections { change(connections, at: now) }
    guard let before = last else {
      last = Sample(at: now, received: received, verified: verified)
      lastArrival = now
      return
    }
    guard before.at < now else { return }
    let arrived = max(.zero, received - before.received)
    let settled = verified - before.verified
    // What the library had is verified without having been received.
    unverified =
      settled < .zero ? .zero : min(max(.zero, unverified + arrived - settled), Self.mostUnverified)
    guard arrived > .zero else {
      // The time is counted with the bytes that end it.
      last?.verified = verified
      return
    }
    if let lastArrival, now - lastArrival >= Self.longestSilence, !speed.isFresh {
      speed.resume()
    } else {
      speed.add(Double(arrived.rawValue), in: (now - before.at).inSeconds)
    }
    last = Sample(at: now, received: received, verified: verified)
    lastArrival = now
  }

  private mutating func change(_ count: Int, at now: MonotonicInstant) {
    if let narrower, narrower.connections == count, now - narrower.since <= Self.longestTrial {
      speed = narrower.speed
      self.narrower = nil
    } else if speed.isTrending {
      // It is the way that changes: the next seconds show whether the connection does as well.
      narrower = nil
    } else {
      narrower = count > connections ? Narrower(connections: connections, speed: speed, since: now) : nil
      speed.restart()
    }
    connections = count
  }

  /// After a pause the time that passed in it counts for nothing, and pieces that were not whole are fetched anew.
  package mutating func reset() { self = ProgressEstimator() }

  /// The estimate of now, or of a moment ago: numbers change once a second.
  ///
  /// - Parameters:
  ///   - remaining: bytes that are still to be verified; nil where the length is not known.
  ///   - tail: seconds that all steps behind the transfer take.
  package mutating func estimate(remaining: ByteCount?, tail: Double, at now: MonotonicInstant) -> Estimate {
    let fresh = measure(remaining: remaining, tail: tail, at: now)
    if let shown, now - shown.at < Self.shownFor, (shown.estimate.stall == nil) == (fresh.stall == nil),
      (shown.estimate.timeRemaining == nil) == (fresh.timeRemaining == nil)
    {
      // The time since the last byte is not rounded, so that its beginning stays where it is.
      return Estimate(
        speed: shown.estimate.speed, timeRemaining: shown.estimate.timeRemaining, stall: fresh.stall)
    }
    shown = Shown(at: now, estimate: fresh)
    return fresh
  }

  private func measure(remaining: ByteCount?, tail: Double, at now: MonotonicInstant) -> Estimate {
    guard let lastArrival else { return Estimate(speed: 0) }
    if let remaining, remaining <= .zero { return Estimate(speed: speed.speed, timeRemaining: tail) }
    let silence = now - lastArrival
    guard silence < Self.longestSilence else { return Estimate(speed: 0, stall: silence) }
    guard speed.seconds >= Self.shortestSpan else { return Estimate(speed: 0) }
    let bytes = remaining.map { Double(max(.zero, $0 - unverified).rawValue) }
    // What has passed since the last bytes came is taken from the time that the rest takes.
    let seconds = bytes.flatMap { speed.seconds(for: $0) }.map { max(0, $0 - silence.inSeconds) + tail }
    return Estimate(speed: speed.speed, timeRemaining: seconds)
  }

  /// 0 to 1, and 1 only when every byte is verified.
  static func fraction(verified: ByteCount, of total: ByteCount?) -> Double {
    guard let total, total > .zero else { return 0 }
    if verified >= total { return 1 }
    let fraction = Double(verified.rawValue) / Double(total.rawValue)
    return min(max(fraction, 0), 1.0.nextDown)
  }
}

/// The estimator of one job, outside of the table that has the job's row: rows are moved about, and stay short.
package final class JobEstimator: Sendable {
  private let state = Mutex(ProgressEstimator())

  package init() {}

  /// See ``ProgressEstimator/record(received:verified:connections:at:)``.
  package func record(received: ByteCount, verified: ByteCount, connections: Int, at now: MonotonicInstant) {
    state.locked { $0.record(received: received, verified: verified, connections: connections, at: now) }
  }

  /// See ``ProgressEstimator/estimate(remaining:tail:at:)``.
  package func estimate(
    remaining: ByteCount?, tail: Double, at now: MonotonicInstant
  ) -> ProgressEstimator.Estimate {
    state.locked { $0.estimate(remaining: remaining, tail: tail, at: now) }
  }

  /// See ``ProgressEstimator/reset()``.
  package func reset() { state.locked { $0.reset() } }
}
