internal import CLinux
internal import Glibc

/// Owns one socket of netlink(7), over which the kernel tells of changes. It does not wait; only what the kernel itself sends is
/// received.
public final class NetlinkSocket: Sendable {
  /// The result of ``receive()``.
  public enum Reception: Sendable {
    /// One or more messages, as the kernel wrote them.
    case messages([UInt8])
    /// Nothing is there now.
    case nothing
    /// More came than the socket holds, and some of it is lost.
    case lost
  }

  /// The kinds of objects that ``requestDump(of:)`` asks for (rtnetlink(7)).
  public enum Kind: Int32, CaseIterable, Sendable {
    /// `RTM_GETLINK`
    case links = 18
    /// `RTM_GETADDR`
    case addresses = 22
    /// `RTM_GETROUTE`
    case routes = 26
  }

  /// The longest message that the kernel sends in answer to a dump.
  private static let bufferLength = 64 << 10

  private let descriptor: FileDescriptor

  /// The number for ``ReadinessThread``; valid while this object lives.
  public var number: Int32 { descriptor.number }

  private init(protocol number: Int32, groups: UInt32) throws(SystemError) {
    descriptor = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket", subject: "netlink") {
        clinux_open_netlink(number, groups)
      })
  }

  /// Tells of links, addresses and routes.
  public static func network() throws(SystemError) -> NetlinkSocket {
    try NetlinkSocket(protocol: clinux_netlink_route, groups: clinux_netlink_network_groups)
  }

  /// Tells of devices that come, go and change.
  public static func deviceEvents() throws(SystemError) -> NetlinkSocket {
    try NetlinkSocket(protocol: clinux_netlink_uevents, groups: 1)
  }

  /// Asks the kernel for all objects of the kind. They are received as messages with that sequence number, the last of which ends the
  /// answer or refuses it.
  public func requestDump(of kind: Kind, sequence: UInt32) throws(SystemError) {
    try SystemCall.run("sendto", subject: "netlink") { clinux_request_dump(number, kind.rawValue, sequence) }
  }

  /// Returns what has come, without waiting.
  public func receive() throws(SystemError) -> Reception {
    var buffer = [UInt8](repeating: 0, count: Self.bufferLength)
    let number = number
    let outcome: Result<Int?, SystemError> = unsafe buffer.withUnsafeMutableBytes { bytes in
      do throws(SystemError) {
        return .success(
          try SystemCall.runWithoutWaiting("recvfrom") {
            unsafe clinux_receive_netlink(number, bytes.baseAddress, bytes.count)
          })
      } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(let count?): return .messages(Array(buffer.prefix(count)))
    case .success(nil): return .nothing
    case .failure(let error) where error.number == ENOBUFS: return .lost
    case .failure(let error): throw error
    }
  }
}
