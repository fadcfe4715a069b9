// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc

/// Unix sockets (unix(7)) by their paths.
public enum UnixSocket {
  /// Whether a path is a socket's in the file system.
  public static func isSocket(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }

  /// Whether no process listens at the socket that lies at this path, as after a kill: it is in the file system, and the kernel
  /// refuses connections. True as well for one that its process has bound a moment ago and does not listen at yet. False for all else: a path without a socket, one that this process may not use, and a socket whose queue is full,
  /// since its owner lives. Waits for nothing; a process that listens gets a connection that is closed at once.
  public static func isAbandoned(_ path: String) -> Bool {
    // What is no socket refuses connections as well.
    guard isSocket(path) else { return false }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    do throws(SystemError) {
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let probe = FileDescriptor(
        takingOwnershipOf: try SystemCall.run("socket") { socket(AF_UNIX, type, 0) })
      try SystemCall.run("connect", subject: path) {
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
          unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            unsafe connect(probe.number, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
      }
      return false
    } catch {
      return error.number == ECONNREFUSED
    }
  }
}
