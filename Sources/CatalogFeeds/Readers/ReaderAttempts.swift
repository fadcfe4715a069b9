import CoreTypes
import HTTPServer
import RouteAccess
import Synchronization

/// Slows who offers wrong passwords: by name and address, and by address. A password that is right is not asked how often others were
/// wrong elsewhere. Memory is bounded.
final class ReaderAttempts: Sendable {
  /// Wrong passwords for one name from one network at once, and the time after which there may be one more.
  static let burst = 5
  static let interval: Duration = .seconds(30)
  /// Names with their networks that are remembered; of more the one that owes least is forgotten.
  static let maximumNames = 4096

  private struct Key: Hashable {
    var name: String
    var network: PeerNetwork
  }

  private static let allowance = TryAllowance(burst: UInt64(burst), interval: interval)

  private let timer: any MonotonicClock
  private let paidUntil = Mutex<[Key: UInt64]>([:])
  /// By address alone, whatever the names.
  private let networks: WrongKeys

  init(timer: any MonotonicClock) {
    self.timer = timer
    networks = WrongKeys(timer: timer, isReported: false)
  }

  /// Nil where a password for that name may be tried from there, else the whole seconds until then.
  func wait(for name: String, from peer: PeerAddress) -> Int? {
    let key = Key(name: name, network: PeerNetwork(limiting: peer))
    let until = paidUntil.locked { $0[key] ?? 0 }
    return Self.allowance.wait(paidUntil: until, now: timer.now().nanoseconds)
  }

  /// Notes a wrong password. Nil while there may be more from that address, else the whole seconds to wait.
  func charge(_ name: String, from peer: PeerAddress) -> Int? {
    let now = timer.now().nanoseconds
    let key = Key(name: name, network: PeerNetwork(limiting: peer))
    paidUntil.locked { paid in
      if paid[key] == nil, paid.count >= Self.maximumNames {
        paid = paid.filter { $0.value > now }
        if paid.count >= Self.maximumNames, let least = paid.min(by: { $0.value < $1.value }) {
          paid[least.key] = nil
        }
      }
      paid[key] = Self.allowance.charged(paidUntil: paid[key] ?? 0, now: now)
    }
    return networks.charge(peer)
  }
}
