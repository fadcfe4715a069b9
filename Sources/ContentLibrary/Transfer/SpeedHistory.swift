package import CoreTypes
import Synchronization

/// A record of the server's recent speed, and the speed below which a transfer counts as stalled. Shared by all transfers
/// from one server.
package final class SpeedHistory: Sendable {
  /// A transfer slower than this for so long is given up; whole seconds.
  package static let stallAfter: Duration = .seconds(60)
  /// The bounds of ``floor(under:)``. A link that gives less than the first holds a place and brings nothing; whatever a
  /// server gave before, one that gives the second is still of use.
  static let floors: ClosedRange<ByteCount> = .kibibytes(1)...(.kibibytes(16))
  /// The shortest time and the fewest bytes of a transfer whose speed counts.
  static let shortestMeasure: Duration = .seconds(5)
  static let smallestMeasure: ByteCount = .kibibytes(256)

  /// Bytes a second of the last transfer that was measured; 0 before one.
  private let latest = Mutex<Int64>(0)

  /// Bytes a second: an eighth of what the last transfer had, within ``floors``. The lowest without a history. Under a
  /// cap at most half of it, since the cap slows what the server would give.
  package func floor(under cap: ByteCount?) -> ByteCount {
    let wanted = latest.locked { $0 } / 8
    let floor = min(max(wanted, Self.floors.lowerBound.rawValue), Self.floors.upperBound.rawValue)
    guard let cap else { return ByteCount(floor) }
    return ByteCount(max(1, min(floor, cap.rawValue / 2)))
  }

  /// Bytes a second of the last transfer that was measured; zero before one.
  var lastSpeed: ByteCount { ByteCount(latest.locked { $0 }) }

  /// A transfer, also one that failed, received so much in so long. One that was too short, in time and in
  /// bytes, does not count.
  package func record(_ received: ByteCount, in duration: Duration) {
    let milliseconds = duration.milliseconds
    guard milliseconds > 0, duration >= Self.shortestMeasure || received >= Self.smallestMeasure else {
      return
    }
    latest.locked { $0 = received.rawValue * 1000 / milliseconds }
  }
}
