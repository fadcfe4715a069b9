/// Durations for people: two units at most, rounded down to the smaller one.
public enum DurationText {
  /// How long something took: as ``short(_:)``, with a tenth below ten seconds: `0.4 s`, `12 s`, `3 min 5 s`.
  public static func elapsed(_ duration: Duration) -> String {
    let tenths = max(0, duration.milliseconds) / 100
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : short(duration)
  }

  /// `0 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 4 h`; a negative duration is `0 s`.
  public static func short(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    let minutes = seconds / 60
    let hours = minutes / 60
    let days = hours / 24
    if days > 0 { return text((days, "d"), (hours % 24, "h")) }
    if hours > 0 { return text((hours, "h"), (minutes % 60, "min")) }
    if minutes > 0 { return text((minutes, "min"), (seconds % 60, "s")) }
    return "\(seconds) s"
  }

  /// An estimate in as many figures as it is worth: `12 s`, `about 3 min`, `about 1 h 20 min`, `about 14 h`, `about 3 d`.
  /// Minutes are whole up to an hour, then tens up to ten hours; whole hours go up to two days. A negative duration is `0 s`.
  public static func estimate(_ duration: Duration) -> String {
    estimate(duration) { part in "\(part.number) \(part.unit)" }
  }

  /// The same in whole words: `12 seconds`, `about 3 minutes`, `about 1 hour 20 minutes`, `about 14 hours`, `about 3 days`.
  public static func estimateInWords(_ duration: Duration) -> String {
    let words = ["s": "second", "min": "minute", "h": "hour", "d": "day"]
    return estimate(duration) { part in
      "\(part.number) \(words[part.unit] ?? part.unit)\(part.number == 1 ? "" : "s")"
    }
  }

  private static func estimate(_ duration: Duration, _ text: (Part) -> String) -> String {
    let seconds = max(0, duration.components.seconds)
    let minutes = (seconds + 30) / 60
    if seconds < 60 { return text((seconds, "s")) }
    if minutes < 60 { return "about \(text((minutes, "min")))" }
    let tens = (minutes + 5) / 10
    if tens < 60 {
      let rest = tens % 6 * 10
      return "about \(text((tens / 6, "h")))" + (rest == 0 ? "" : " \(text((rest, "min")))")
    }
    let hours = (minutes + 30) / 60
    return "about " + (hours < 48 ? text((hours, "h")) : text(((hours + 12) / 24, "d")))
  }

  /// A number with its unit.
  private typealias Part = (number: Int64, unit: String)

  /// Two parts with a space between; the smaller is left out where it is 0.
  private static func text(_ large: Part, _ small: Part) -> String {
    let text = "\(large.number) \(large.unit)"
    return small.number == 0 ? text : "\(text) \(small.number) \(small.unit)"
  }
}
