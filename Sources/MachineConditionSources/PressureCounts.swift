import CoreTypes
import Files
import Synchronization
import SystemCalls

/// The member `total` of a file of pressure: microseconds in which some task has waited. Pure, but for ``read(_:)``.
enum PressureTotal {
  /// Nil for a text that is none: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
  static func parse(_ text: String) -> UInt64? {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
      let member = line.split(separator: " ").first(where: { $0.hasPrefix("total=") })
    else { return nil }
    return UInt64(member.dropFirst("total=".count))
  }

  /// Nil for a file that cannot be read.
  static func read(_ path: String) -> UInt64? {
    guard let bytes = try? FileSystem.read(path, upTo: .kibibytes(4)) else { return nil }
    return parse(String(decoding: bytes, as: UTF8.self))
  }
}

/// How long was waited, on the machine and in this process's own control group, since a trigger fired. What came before says nothing: in a
/// quiet hour the small waits of others add up to more than a threshold.
final class PressureCounts: Sendable {
  private let baseline = Mutex<(all: UInt64?, own: UInt64?)>((nil, nil))
  private let threshold: UInt64

  /// `threshold` is that of the trigger, in microseconds of one window.
  init(threshold: Int) {
    self.threshold = UInt64(threshold)
  }

  /// The trigger has fired, and so long was waited until then.
  func begin(all: UInt64?, own: UInt64?) {
    baseline.locked { $0 = (all, own) }
  }

  /// Whether others have waited for half of the threshold since ``begin(all:own:)``, one window ago. Where it is not known whose waits they
  /// are, they may be this agent's own: then no one is said to wait.
  func isOfOthers(all: UInt64?, own: UInt64?) -> Bool {
    baseline.locked { baseline in
      guard let all, let before = baseline.all, let own, let ownBefore = baseline.own, all >= before,
        own >= ownBefore
      else { return false }
      let (waited, mine) = (all - before, own - ownBefore)
      return waited >= mine && waited - mine >= threshold / 2
    }
  }
}
