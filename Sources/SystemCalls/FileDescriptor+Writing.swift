internal import CLinux
public import CoreTypes
internal import Glibc

extension FileDescriptor {
  /// posix_fallocate(3): takes the room for so many bytes from the beginning.
  public func allocate(_ length: ByteCount) throws(SystemError) {
    try SystemCall.run("posix_fallocate") { () -> Int32 in
      let error = posix_fallocate(number, 0, off_t(length.rawValue))
      guard error != 0 else { return 0 }
      // Unlike others, this call answers the error's number.
      errno = error
      return -1
    }
  }

  /// fallocate(2): takes the room for so many bytes from the beginning. False where the file system cannot; nothing is
  /// written in its stead.
  public func allocateIfSupported(_ length: ByteCount) throws(SystemError) -> Bool {
    do {
      try SystemCall.run("fallocate") { clinux_fallocate(number, off_t(length.rawValue)) }
      return true
    } catch {
      if error.isNotSupported { return false }
      throw error
    }
  }

  /// pwrite(2) until all of `bytes` is written at `offset`.
  public func write(_ bytes: Span<UInt8>, at offset: ByteCount) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let position = written
      written += try SystemCall.run("pwrite") {
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe pwrite(
            number, bytes.baseAddress?.advanced(by: position), bytes.count - position,
            off_t(offset.rawValue) + off_t(position))
        }
      }
    }
  }

  /// write(2) until all of `bytes` is written where the descriptor stands.
  public func write(_ bytes: Span<UInt8>) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let position = written
      written += try SystemCall.run("write") {
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe Glibc.write(number, bytes.baseAddress?.advanced(by: position), bytes.count - position)
        }
      }
    }
  }

  /// fsync(2): returns when data and metadata are on the device.
  public func synchronize() throws(SystemError) {
    try SystemCall.run("fsync") { fsync(number) }
  }

  /// fdatasync(2): data and the length, not times.
  public func synchronizeData() throws(SystemError) {
    try SystemCall.run("fdatasync") { fdatasync(number) }
  }

  /// sync_file_range(2): asks the kernel to start writing these pages back, and returns at once. No
  /// durability by itself; it spreads the work of a later ``synchronizeData()``.
  public func startWriteback(of range: Range<Int64>) throws(SystemError) {
    try SystemCall.run("sync_file_range") {
      clinux_sync_file_range(
        number, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound),
        clinux_sync_file_range_write)
    }
  }

  /// ftruncate(2).
  public func truncate(to length: ByteCount) throws(SystemError) {
    try SystemCall.run("ftruncate") { ftruncate(number, off_t(length.rawValue)) }
  }
}
