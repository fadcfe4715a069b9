import CLinux
import Glibc
public import SystemCalls

/// Notifies systemd of the state of this service: sd_notify(3), datagrams to the socket named by `NOTIFY_SOCKET`.
public struct ServiceManagerNotifier: Sendable {
  /// The path of the socket, or `@` and the name of an abstract one.
  private let path: String

  /// Nil if `NOTIFY_SOCKET` is not set.
  public init?(environment: [String: String]) {
    guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else {
      return nil
    }
    self.path = path
  }

  /// Lines such as `READY=1`, `STOPPING=1`, `STATUS=…`. Never waits: a manager that does not read what it was told before
  /// is an error (`EAGAIN`), and must not hold up a stop.
  public func notify(_ text: String) throws(SystemError) {
    let number = try SystemCall.run("socket") {
      socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    let descriptor = FileDescriptor(takingOwnershipOf: number)
    var address = sockaddr_un()
    let length = try fill(&address)
    let bytes = Array(text.utf8)
    try SystemCall.run("sendto", subject: path) {
      unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe sendto(
            descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), address, length)
        }
      }
    }
  }

  /// Tells the service manager that a reload begins; `READY=1` ends it. Since systemd 253
  /// (`Type=notify-reload`) the time must come along, on the clock that does not count suspension.
  public func notifyReloading() throws(SystemError) {
    try notify("RELOADING=1\nMONOTONIC_USEC=\(clinux_monotonic_time() / 1000)")
  }

  /// A leading `@` names an abstract socket, whose name starts with a zero byte and has no end but its
  /// length.
  private func fill(_ address: inout sockaddr_un) throws(SystemError) -> socklen_t {
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    if path.hasPrefix("@") { name[0] = 0 }
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard name.count < room else { throw SystemError(number: ENAMETOOLONG, call: "sendto", subject: path) }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    let start = MemoryLayout<sockaddr_un>.size - room
    return socklen_t(start + name.count + (path.hasPrefix("@") ? 0 : 1))
  }
}
