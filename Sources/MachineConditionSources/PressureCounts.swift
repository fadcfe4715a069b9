import CoreTypes
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

/// How long was waited until the last look, on the machine and in this process's own control group.
final class PressureCounts: Sendable {
  private let last: Mutex<(all: UInt64?, own: UInt64?)>
  private let threshold: UInt64

  init(all: UInt64?, own: UInt64?, threshold: Int) {
    last = Mutex((all, own))
    self.threshold = UInt64(threshold)
  }

  /// Whether others have waited for the threshold since then. Where it is not known whose waits they are, they may be this agent's own:
  /// then no one is said to wait.
  func isOfOthers(all: UInt64?, own: UInt64?) -> Bool {
    last.withLock { last in
      defer { last = (all, own) }
      guard let all, let before = last.all, let own, let ownBefore = last.own else { return false }
      let (waited, mine) = (all &- before, own &- ownBefore)
      return waited >= mine && waited - mine >= threshold / 2
    }
  }
}
