internal import Glibc

extension FileDescriptor {
  /// flock(2), exclusive, without waiting: false when another open of the same file holds it, in this process or another.
  /// Held until this descriptor is closed.
  public func lock() throws(SystemError) -> Bool {
    try SystemCall.runWithoutWaiting("flock") { flock(number, LOCK_EX | LOCK_NB) } != nil
  }
}
