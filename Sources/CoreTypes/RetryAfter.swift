/// How long a service asks its clients to wait: the field `Retry-After` (RFC 9110 §10.2.3) and the member
/// `retryAfterSeconds` of a problem document. Any number can stand there, also one that no clock can add or that
/// was meant as a date; each is brought into a range where it is read: ``range`` for what a service hands on,
/// ``obeyedRange`` for what a client waits.
///
/// ```swift
/// RetryAfter.seconds(clamping: 120)  // 120
/// RetryAfter.seconds(clamping: 9_223_372_036_854_775_807)  // 900
/// ```
public enum RetryAfter {
  /// The seconds that are believed and handed on: 1 s to 15 minutes.
  public static let range = 1...900

  /// The seconds that a client obeys: 1 s to a day. What a proxy says before a maintenance of hours counts.
  public static let obeyedRange = 1...86_400

  /// The number of ``range`` that is nearest.
  public static func seconds(clamping seconds: some BinaryInteger) -> Int {
    min(max(Int(clamping: seconds), range.lowerBound), range.upperBound)
  }

  /// The number of ``range`` that is nearest to a duration, whose begun second counts as a whole one.
  public static func seconds(clamping duration: Duration) -> Int {
    seconds(clamping: wholeSeconds(of: duration))
  }

  /// The number of ``obeyedRange`` that is nearest.
  public static func obeyedSeconds(clamping seconds: some BinaryInteger) -> Int {
    min(max(Int(clamping: seconds), obeyedRange.lowerBound), obeyedRange.upperBound)
  }

  /// The number of ``obeyedRange`` that is nearest to a duration, whose begun second counts as a whole one.
  public static func obeyedSeconds(clamping duration: Duration) -> Int {
    obeyedSeconds(clamping: wholeSeconds(of: duration))
  }

  private static func wholeSeconds(of duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
  }
}
