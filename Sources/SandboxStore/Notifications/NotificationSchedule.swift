import CoreTypes
import SandboxRecords

/// When a notification that was not taken is sent again: 1, 12, 24, 48 and 72 hours after the attempt before, in
/// proportion to the store's month.
enum NotificationSchedule {
  private static let delays = [1, 12, 24, 48, 72].map { Duration.seconds($0 * 3600) }

  /// Attempts in all.
  static let attempts = delays.count + 1

  /// When the next attempt is made after `made` of them, the last one at `now`. Nil after the last.
  ///
  /// - Parameter made: attempts so far, at least one.
  static func next(afterAttempts made: Int, at now: Timestamp, by calendar: StoreCalendar) -> Timestamp? {
    guard (1...delays.count).contains(made) else { return nil }
    return now + calendar.contracted(delays[made - 1])
  }
}
