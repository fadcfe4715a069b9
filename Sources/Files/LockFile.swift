internal import CLinux
internal import Glibc
public import SystemCalls

/// Keeps a state directory to one process: holds `flock(2)` on a file in it while this value lives. The
/// kernel lets go when the process ends, however it ends; the file itself stays and means nothing.
public struct LockFile: ~Copyable, Sendable {
  private let file: FileDescriptor

  private init(_ file: consuming FileDescriptor) {
    self.file = file
  }

  /// Nil when another process, or another value in this one, holds the lock.
  public static func acquire(_ path: String) throws(SystemError) -> LockFile? {
    let file = try FileDescriptor.open(
      path, .readWrite, options: [.create, .doNotFollow], permissions: 0o600)
    return try file.lock() ? LockFile(file) : nil
  }
}

extension FileDescriptor {
  /// flock(2), exclusive, without waiting: false when another open of the same file holds it, in this process
  /// or another. Held until this descriptor is closed.
  public func lock() throws(SystemError) -> Bool {
    try SystemCall.runWithoutWaiting("flock") { flock(number, LOCK_EX | LOCK_NB) } != nil
  }

  /// flock(2), shared, without waiting: false when another open of the same file holds it alone.
  public func lockShared() throws(SystemError) -> Bool {
    try SystemCall.runWithoutWaiting("flock") { flock(number, LOCK_SH | LOCK_NB) } != nil
  }

  /// flock(2), exclusive; blocks until no other open of the same file holds it.
  public func lockWaiting() throws(SystemError) {
    try SystemCall.run("flock") { flock(number, LOCK_EX) }
  }
}
