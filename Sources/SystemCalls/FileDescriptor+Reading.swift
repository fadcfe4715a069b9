internal import Glibc
public import Measures

extension FileDescriptor {
  /// fstat(2).
  public func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try SystemCall.run("fstat") { unsafe fstat(number, &status) }
    return FileStatus(status)
  }

  /// pread(2): appends up to `count` bytes from `offset` to `buffer`; fewer at the end of the file, none past it.
  public func read(
    upTo count: Int, at offset: ByteCount, into buffer: inout [UInt8]
  ) throws(SystemError) {
    let start = buffer.count
    buffer.append(contentsOf: [UInt8](repeating: 0, count: count))
    var filled = 0
    // Also when it throws: what was not read is not in the buffer.
    defer { buffer.removeLast(count - filled) }
    while filled < count {
      let position = filled
      let received = try SystemCall.run("pread") {
        unsafe buffer.withUnsafeMutableBytes { bytes in
          unsafe pread(
            number, bytes.baseAddress! + start + position, count - position,
            off_t(offset.rawValue) + off_t(position))
        }
      }
      if received == 0 { return }
      filled += received
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
            number, bytes.baseAddress! + position, bytes.count - position,
            off_t(offset.rawValue) + off_t(position))
        }
      }
      if received == 0 { return false }
      filled += received
    }
    return true
  }
}
