package import CoreTypes

/// The number of connections that one transfer goes over: one, and up to four where each more brings notably more. Pure: it is told
/// the bytes and the time.
///
/// One more is tried once the speed is steady, nothing on this side holds the transfer back, and enough is left for the trial to be
/// worth it. It stays where the seconds after it was opened bring ``gain`` times as much, and then another one is tried at once;
/// otherwise the next trial comes later. A server that refuses a connection is not asked for another one by this transfer. While the
/// machine has other work, half of them are used and none is tried.
package struct ConnectionPlan: Hashable, Sendable {
  /// The most connections of one transfer.
  package static let limit = 4
  /// The time over which a speed is measured.
  static let measure: Duration = .seconds(4)
  /// The beginning of a connection, in which its speed says nothing yet.
  static let settling: Duration = .seconds(1)
  /// A trial whose connection has not been opened by then is given up. It opens once a request of another one is over, which fetches two
  /// pieces at least.
  static let longestOpening: Duration = .seconds(120)
  /// The factor by which the speed with one connection more has to be greater.
  static let gain = 1.15
  /// Until the trial after one that brought too little; each further pause is twice as long, up to ``longestPause``.
  static let firstPause: Duration = .seconds(60)
  static let longestPause: Duration = .seconds(16 * 60)
  /// The part of the time that the connections may wait for this side, before a speed says nothing of the way.
  static let heldBackPart = 0.1
  /// A trial is worth it while the rest takes longer than this.
  static let shortestRest: Duration = .seconds(12)

  /// A measurement under way.
  private struct Window: Hashable {
    var start: MonotonicInstant
    var bytes: ByteCount
    /// How long connections waited for something on this side, together.
    var heldBack: Duration = .zero
  }

  /// The connections that the transfer should go over now.
  package private(set) var count: Int
  /// The most that it may have, in ``limit``.
  package let maximum: Int
  private var window: Window?
  /// When the next window begins at the earliest.
  private var windowBegins: MonotonicInstant?
  /// Bytes a second of the last whole window with as many connections; nil where there was none.
  private var latest: Double?
  /// Bytes a second with one connection less, while the last one is a trial.
  private var baseline: Double?
  /// Since when a trial waits for its connection to be opened.
  private var openingSince: MonotonicInstant?
  private var pause = firstPause
  private var isRefused = false
  private var isYielding = false

  /// - Parameter count: the connections at the beginning.
  package init(maximum: Int = limit, count: Int = 1) {
    self.maximum = min(max(maximum, 1), Self.limit)
    self.count = min(max(count, 1), self.maximum)
  }

  /// Bytes have come, `received` of them in all; `left` are missing then, and so many requests are under way. Whether ``count`` is another
  /// one now.
  package mutating func note(
    _ received: ByteCount, left: ByteCount, running: Int, at now: MonotonicInstant
  ) -> Bool {
    guard maximum > 1, !isRefused, !isYielding else { return false }
    if let openingSince {
      // One that opens after a pause of everything would be measured against a speed of long ago.
      guard now - openingSince < Self.longestOpening else { return giveUp(at: now, isMeasured: false) }
      guard running >= count else { return false }
      self.openingSince = nil
      windowBegins = now + Self.settling
    }
    guard windowBegins.map({ $0 <= now }) ?? false else {
      if windowBegins == nil { windowBegins = now + Self.settling }
      return false
    }
    guard let window else {
      self.window = Window(start: now, bytes: received)
      return false
    }
    guard now - window.start >= Self.measure else { return false }
    let speed = Double((received - window.bytes).rawValue) / (now - window.start).inSeconds
    self.window = nil
    guard window.heldBack.inSeconds <= Self.heldBackPart * Double(count) * Self.measure.inSeconds else {
      latest = nil
      return baseline == nil ? false : giveUp(at: now)
    }
    return end(speed, left: left, at: now)
  }

  /// Whether the machine has other work, for which this transfer stands back: it goes over half of its connections then, over one at least,
  /// and none is tried. Afterwards they come back as they came at first. Whether ``count`` is another one now.
  package mutating func setYielding(_ yields: Bool) -> Bool {
    guard yields != isYielding else { return false }
    isYielding = yields
    let before = count
    if yields {
      // A connection that is a trial has shown nothing.
      if baseline != nil { count -= 1 }
      count = max(count / 2, 1)
    }
    (baseline, latest, window, windowBegins, openingSince) = (nil, nil, nil, nil, nil)
    return count != before
  }

  /// A connection waited so long for something on this side: its rate, the budget, the disk. Where that is a notable part of a measurement,
  /// it does not count, and a trial has not shown that it brings more.
  package mutating func noteHeldBack(for duration: Duration) {
    guard let known = window else { return }
    window?.heldBack = known.heldBack + duration
  }

  /// The server refused a connection, or one ended in an error while others went on: one is what it gives. Whether ``count`` is another
  /// one now.
  package mutating func refuse() -> Bool {
    defer { (count, isRefused, baseline, window, openingSince) = (1, true, nil, nil, nil) }
    return count > 1
  }

  private mutating func end(_ speed: Double, left: ByteCount, at now: MonotonicInstant) -> Bool {
    if let baseline {
      guard speed >= baseline * Self.gain else { return giveUp(at: now) }
      self.baseline = nil
      latest = speed
      pause = Self.firstPause
      return tryOneMore(over: speed, left: left, at: now)
    }
    let before = latest
    latest = speed
    guard let before, speed <= before * Self.gain, speed * Self.gain >= before else { return false }
    return tryOneMore(over: max(speed, before), left: left, at: now)
  }

  /// Adds a connection as a trial, against so many bytes a second, where there may be one more and the rest is worth it.
  private mutating func tryOneMore(over speed: Double, left: ByteCount, at now: MonotonicInstant) -> Bool {
    guard count < maximum, speed > 0, Double(left.rawValue) / speed > Self.shortestRest.inSeconds else {
      return false
    }
    baseline = speed
    latest = nil
    count += 1
    openingSince = now
    return true
  }

  /// The connection that is a trial goes. Only one that was measured makes the pause before the next one longer.
  private mutating func giveUp(at now: MonotonicInstant, isMeasured: Bool = true) -> Bool {
    count -= 1
    baseline = nil
    latest = nil
    window = nil
    openingSince = nil
    windowBegins = now + pause
    if isMeasured { pause = min(pause + pause, Self.longestPause) }
    return true
  }
}
