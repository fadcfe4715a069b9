internal import CLinux
internal import Glibc
internal import SystemCalls

/// Where the bytes of a connection without TLS come from and go to: its socket, or, in a test, what stands for one.
protocol ConnectionLine {
  /// The number of bytes that were taken, nil when none are taken for now. `more`: what follows is to leave with them.
  func send(_ bytes: UnsafePointer<UInt8>, count: Int, more: Bool) throws(SystemError) -> Int?

  /// The same for a part of a file; 0 when the file ends before it.
  func sendFile(_ file: SharedDescriptor, from offset: Int64, count: Int) throws(SystemError) -> Int?

  /// The number of bytes that have come, 0 when no more will, nil when there are none for now.
  func receive(into bytes: UnsafeMutablePointer<UInt8>, upTo limit: Int) throws(SystemError) -> Int?

  /// Keeps back what fills no segment (`TCP_CORK`), until told not to.
  func setCorked(_ isCorked: Bool)

  /// Lets bytes leave at no more than that rate; `.max` is no bound.
  func setPace(bytesPerSecond: UInt64)

  /// Bytes taken that the peer has not acknowledged.
  var queuedOutput: Int { get }

  /// Says that nothing more will be sent; false when the peer is gone.
  func endSending() -> Bool

  /// Makes the close of the connection drop the bytes that were taken and have not left, and tell the peer
  /// so.
  func dropQueue()
}

/// The kernel's.
struct SocketLine: ConnectionLine {
  let descriptor: Int32

  @inline(__always)
  func send(_ bytes: UnsafePointer<UInt8>, count: Int, more: Bool) throws(SystemError) -> Int? {
    try SystemCall.runWithoutWaiting("send") {
      unsafe Glibc.send(descriptor, bytes, count, Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0))
    }
  }

  @inline(__always)
  func sendFile(_ file: SharedDescriptor, from offset: Int64, count: Int) throws(SystemError) -> Int? {
    var offset = off_t(offset)
    return try SystemCall.runWithoutWaiting("sendfile") {
      unsafe sendfile(descriptor, file.descriptor.number, &offset, count)
    }
  }

  @inline(__always)
  func receive(into bytes: UnsafeMutablePointer<UInt8>, upTo limit: Int) throws(SystemError) -> Int? {
    try SystemCall.runWithoutWaiting("recv") { unsafe recv(descriptor, bytes, limit, 0) }
  }

  func setCorked(_ isCorked: Bool) {
    var option: Int32 = isCorked ? 1 : 0
    // Only TCP has it; elsewhere there are no segments.
    _ = unsafe setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_CORK, &option, socklen_t(MemoryLayout<Int32>.size))
  }

  func setPace(bytesPerSecond: UInt64) {
    var rate = bytesPerSecond
    // A socket that cannot be paced (a Unix one on some kernels) is a local one, and not worth a lost
    // response.
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, socklen_t(MemoryLayout<UInt64>.size))
  }

  var queuedOutput: Int { Int(clinux_queued_output(descriptor)) }

  func endSending() -> Bool { shutdown(descriptor, Int32(SHUT_WR)) == 0 }

  func dropQueue() {
    var option = linger(l_onoff: 1, l_linger: 0)
    // Fails only for a socket that is broken already.
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
