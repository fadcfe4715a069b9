internal import CLinux
public import CoreTypes
internal import Glibc

extension FileDescriptor {
  /// lseek(2) to the start, for libraries that read where the descriptor stands.
  public func rewind() throws(SystemError) {
    try SystemCall.run("lseek") { lseek(number, 0, SEEK_SET) }
  }

  /// fstat(2).
  public func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try SystemCall.run("fstat") { unsafe fstat(number, &status) }
    return FileStatus(status)
  }

  /// pread(2): appends up to `count` bytes from `offset` to `buffer`; fewer at the end of the file, none past
  /// it.
  public func read(
    upTo count: Int, at offset: ByteCount, into buffer: inout [UInt8]
  ) throws(SystemError) {
    // The bytes go where they will stay: nothing is cleared first only to be overwritten.
    try buffer.append(addingCapacity: count) { output throws(SystemError) in
      while output.freeCapacity > 0 {
        let position = off_t(offset.rawValue) + off_t(output.count)
        let received = try SystemCall.run("pread") {
          unsafe output.withUnsafeMutableBufferPointer { bytes, initializedCount in
            let received = unsafe pread(
              number, bytes.baseAddress?.advanced(by: initializedCount), bytes.count - initializedCount,
              position)
            if received > 0 { initializedCount += received }
            return received
          }
        }
        if received == 0 { return }
      }
    }
  }

  /// pread(2) of exactly `bytes.count` bytes; false if the file ends before.
  public func fill(_ bytes: inout MutableSpan<UInt8>, at offset: ByteCount) throws(SystemError) -> Bool {
    var filled = 0
    while filled < bytes.count {
      let position = filled
      let received = try SystemCall.run("pread") {
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
          unsafe pread(
            number, bytes.baseAddress?.advanced(by: position), bytes.count - position,
            off_t(offset.rawValue) + off_t(position))
        }
      }
      if received == 0 { return false }
      filled += received
    }
    return true
  }

  /// posix_fadvise(2) with `POSIX_FADV_DONTNEED`: asks the kernel to drop the file's clean pages. It is advice: pages that another program has
  /// mapped stay, and a file system may pass over it.
  public func forgetCached() {
    _ = posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
  }
}
