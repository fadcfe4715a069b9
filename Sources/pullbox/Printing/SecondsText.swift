import CoreTypes
import ServiceRuntime

/// How long something took.
enum SecondsText {
  /// With a tenth below ten seconds: `0.4 s`, `12 s`, `3 min 5 s`.
  static func of(_ duration: Duration) -> String {
    let tenths = max(0, duration.milliseconds) / 100
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : DurationText.short(duration)
  }
}
