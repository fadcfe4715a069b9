import CLinux
public import CoreTypes

/// Moments for people, in the time zone of `TZ` or the system's.
public enum LocalTime {
  /// `2026-11-22 06:10:05`.
  public static func text(_ moment: Timestamp) -> String {
    formatted(moment, "%Y-%m-%d %H:%M:%S")
  }

  /// With the zone, for a sentence: `2026-11-22 06:10:05 +0100`.
  public static func withZone(_ moment: Timestamp) -> String {
    formatted(moment, "%Y-%m-%d %H:%M:%S %z")
  }

  /// The time of a day alone: `06:10:05`.
  public static func clock(_ moment: Timestamp) -> String {
    formatted(moment, "%H:%M:%S")
  }

  /// The text by strftime(3) in the local zone; the description where it has no room in 64 bytes.
  private static func formatted(_ moment: Timestamp, _ format: String) -> String {
    var buffer = [CChar](repeating: 0, count: 64)
    let length = unsafe clinux_format_local_time(moment.secondsSinceEpoch, format, &buffer, buffer.count)
    guard length > 0 else { return moment.description }
    return String(decoding: buffer.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
