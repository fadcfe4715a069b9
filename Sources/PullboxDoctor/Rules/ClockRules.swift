import CoreTypes
import HTTPClient
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// Whether the clocks agree: those of this machine, of the server, and of the proxy that writes `Date`.
enum ClockRules {
  /// The largest difference between two clocks that is not mentioned.
  static let slack = Duration.seconds(30)

  /// `clock`. Where the server's clock and `Date` are both wrong, this machine's is taken to be.
  static func findings(_ seen: ServerObservations) -> [Finding] {
    guard let answer = seen[.report], let report = seen.report else { return [] }
    // The answer was written between the two.
    let (earliest, latest) = (answer.began, answer.began + answer.duration)
    let server = difference(of: report.time, from: earliest, to: latest)
    let date = answer.head?.date.map { date in
      // Whole seconds: up to one of them is cut off.
      difference(of: date, from: earliest - .seconds(1), to: latest)
    }
    let isServerWrong = magnitude(server) > slack
    let isDateWrong = date.map { magnitude($0) > slack } ?? false
    let limit = DeviceProof.tolerance
    switch (isServerWrong, isDateWrong) {
    case (false, false):
      return [
        Finding("clock", .ok, "the server's clock is this machine's, within \(DurationText.short(slack))")
      ]
    case (false, true):
      return [
        Finding(
          "clock", .warning,
          "Date is \(text(date ?? .zero)) of this machine's clock, the server's time is not",
          cause: .proxyClock)
      ]
    case (true, let isDateWrong):
      let verdict: Finding.Verdict = magnitude(server) > limit ? .failure : .warning
      return [
        Finding(
          "clock", verdict,
          "the server's clock is \(text(server)) of this machine's; beyond \(DurationText.short(limit)) it refuses "
            + "what devices sign", cause: isDateWrong ? .ownClock : .serverClock)
      ]
    }
  }

  /// How far `time` lies outside the two; positive if it is later.
  private static func difference(of time: Timestamp, from earliest: Timestamp, to latest: Timestamp)
    -> Duration
  {
    if time < earliest { return time - earliest }
    return time > latest ? time - latest : .zero
  }

  private static func magnitude(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
  }

  /// Such as `40 s behind`.
  private static func text(_ difference: Duration) -> String {
    "\(DurationText.short(magnitude(difference))) \(difference < .zero ? "behind" : "ahead")"
  }
}
