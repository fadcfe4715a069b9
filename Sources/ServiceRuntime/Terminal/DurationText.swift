import CoreTypes

/// Durations for people: two units at most, rounded down to the smaller one.
public enum DurationText {
  /// `0 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 4 h`; a negative duration is `0 s`.
  public static func short(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    let minutes = seconds / 60
    let hours = minutes / 60
    let days = hours / 24
    if days > 0 { return pair(days, "d", hours % 24, "h") }
    if hours > 0 { return pair(hours, "h", minutes % 60, "min") }
    if minutes > 0 { return pair(minutes, "min", seconds % 60, "s") }
    return "\(seconds) s"
  }

  private static func pair(_ large: Int64, _ unit: String, _ small: Int64, _ smallUnit: String) -> String {
    small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(smallUnit)"
  }
}
