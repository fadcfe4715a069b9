package import CoreTypes

/// The time as it is at least, whatever the device's clock shows: what a license is measured by. Pure.
///
/// It rests on what the delivery server signed last and on the time that passed since then while the machine ran, which no person sets. Only
/// behind a restart of the machine is its clock asked, less what it was off by, and then it moves this time on and never back:
///
/// ```swift
/// var time = HighestTime()
/// time.hear(license.issued, at: reading)   // the server's word
/// time.now(at: later)                      // that, and what has passed
/// time.note(later)                         // saved, so that no restart goes back behind it
/// ```
package struct HighestTime: Hashable, Sendable {
  /// The device's clocks as they show at one moment.
  package struct Reading: Hashable, Sendable {
    /// The clock that people set.
    package var wall: Timestamp
    /// Names the time since the machine started; nil where that is not known.
    package var boot: String?
    /// Passed since then, suspended or not.
    package var uptime: Duration

    package init(wall: Timestamp, boot: String?, uptime: Duration) {
      self.wall = wall
      self.boot = boot
      self.uptime = uptime
    }
  }

  /// The highest time that was known; nil before any was.
  package private(set) var highest: Timestamp?
  /// Where the machine was then.
  package private(set) var boot: String?
  /// Passed since the machine's start, then.
  package private(set) var uptime: Duration
  /// Whether it is the server's word since this start of the machine, and what passed since.
  package private(set) var isServers: Bool
  /// The server's time less the device's, when the server was heard last.
  package private(set) var offset: Duration
  /// The highest that the server's word alone has led to; nil before it was heard.
  package private(set) var confirmed: Timestamp?

  package init(
    highest: Timestamp? = nil, confirmed: Timestamp? = nil, boot: String? = nil, uptime: Duration = .zero,
    isServers: Bool = false, offset: Duration = .zero
  ) {
    self.highest = highest
    self.confirmed = confirmed
    self.boot = boot
    self.uptime = uptime
    self.isServers = isServers
    self.offset = offset
  }

  /// The time that has passed since ``highest`` was noted, at least. Behind a restart of the machine that is all since its start.
  private func passed(at reading: Reading) -> Duration {
    guard let boot, let there = reading.boot else { return .zero }
    return max(.zero, boot == there ? reading.uptime - uptime : reading.uptime)
  }

  private func isSameStart(as reading: Reading) -> Bool { boot != nil && boot == reading.boot }

  /// The time that counts now.
  package func now(at reading: Reading) -> Timestamp {
    let shown = reading.wall + offset
    guard let highest else { return shown }
    let reached = highest + passed(at: reading)
    // What the machine counts itself is right, so that a clock that is ahead takes nothing away either.
    return isServers && isSameStart(as: reading) ? reached : max(reached, shown)
  }

  /// Takes the time that counts now as the least from here on.
  package mutating func note(_ reading: Reading) {
    let passed = passed(at: reading)
    let reached = now(at: reading)
    isServers = isServers && isSameStart(as: reading)
    confirmed = confirmed.map { $0 + passed }
    highest = reached
    boot = reading.boot
    uptime = reading.uptime
  }

  /// Where the server's words differ by more, the earlier one was wrong.
  package static let correctedDifference: Duration = .seconds(86_400)

  /// The server was asked, and has signed that it was `issued` just now. What only the device's own clock had said is put right. Nothing goes
  /// back behind an earlier word of the server, unless that leads to a time more than ``correctedDifference`` later: then it was wrong, and the
  /// new one counts. Answers whether that was so.
  @discardableResult
  package mutating func hear(_ issued: Timestamp, at reading: Reading) -> Bool {
    let least = confirmed.map { $0 + passed(at: reading) }
    let isCorrection = least.map { $0 - issued > Self.correctedDifference } ?? false
    let time = isCorrection ? issued : least.map { max($0, issued) } ?? issued
    highest = time
    confirmed = time
    boot = reading.boot
    uptime = reading.uptime
    isServers = true
    offset = issued - reading.wall
    return isCorrection
  }
}
