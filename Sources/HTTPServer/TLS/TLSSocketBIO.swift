internal import CLinux
internal import CTLS
internal import Glibc

/// The socket as OpenSSL sees it: a BIO whose reading and writing are recv(2) and send(2) of one connection.
/// It remembers that the socket is empty, which saves the call that would only say so, and lets the kernel
/// put records together.
struct TLSSocketBIO {
  let descriptor: Int32
  /// The socket may have something: an edge was seen, and nothing since said that it is empty.
  var mayReceive = true
  /// The peer has closed its sending half: only an empty receive is the end.
  var readsToEnd = false
  var hasEnded = false
  /// More bytes follow at once (`MSG_MORE`).
  var hasMore = false

  /// Nil when OpenSSL has no memory, or no number, for another kind of BIO.
  static let method: TLSSocketBIOMethod? = TLSSocketBIOMethod()

  fileprivate mutating func receive(_ target: UnsafeMutableRawPointer, count: Int) -> Int? {
    guard mayReceive else { return nil }
    while true {
      let received = unsafe recv(descriptor, target, count, 0)
      if received == -1 {
        if errno == EINTR { continue }
        guard errno == EAGAIN || errno == EWOULDBLOCK else { return -1 }
        mayReceive = false
        return nil
      }
      if received == 0 { hasEnded = true }
      if received < count, !readsToEnd { mayReceive = false }
      return received
    }
  }

  fileprivate func send(_ source: UnsafeRawPointer, count: Int) -> Int? {
    let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
    while true {
      let sent = unsafe Glibc.send(descriptor, source, count, flags)
      guard sent == -1 else { return sent }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? nil : -1
    }
  }
}

/// The kind of BIO that ``TLSSocketBIO`` is.
// Unchecked: nothing changes it once it is made. Safe: it owns the handle, for the life of the process.
@safe
final class TLSSocketBIOMethod: @unchecked Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  fileprivate init?() {
    let number = BIO_get_new_index()
    guard number != -1, let handle = unsafe BIO_meth_new(number | BIO_TYPE_SOURCE_SINK, "pullbox socket")
    else {
      return nil
    }
    unsafe self.handle = handle
    unsafe BIO_meth_set_read(handle, readSocket)
    unsafe BIO_meth_set_write(handle, writeSocket)
    unsafe BIO_meth_set_ctrl(handle, controlSocket)
  }
}

/// The ``TLSSocketBIO`` behind a BIO: TLSSession put it there, and frees the BIO before it.
private func socketBIO(of bio: OpaquePointer?) -> UnsafeMutablePointer<TLSSocketBIO>? {
  unsafe BIO_get_data(bio)?.assumingMemoryBound(to: TLSSocketBIO.self)
}

private func readSocket(
  _ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ count: Int32
) -> Int32 {
  guard let socketBIO = unsafe socketBIO(of: bio), let target = unsafe target, count > 0 else { return -1 }
  unsafe ctls_clear_retry(bio)
  guard let received = unsafe socketBIO.pointee.receive(target, count: Int(count)) else {
    unsafe ctls_retry_read(bio)
    return -1
  }
  return Int32(received)
}

private func writeSocket(_ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
  guard let socketBIO = unsafe socketBIO(of: bio), let source = unsafe source, count > 0 else { return -1 }
  unsafe ctls_clear_retry(bio)
  guard let sent = unsafe socketBIO.pointee.send(source, count: Int(count)) else {
    unsafe ctls_retry_write(bio)
    return -1
  }
  return Int32(sent)
}

private func controlSocket(
  _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  switch command {
  // Nothing is held back here.
  case BIO_CTRL_FLUSH: 1
  case BIO_CTRL_EOF: unsafe socketBIO(of: bio)?.pointee.hasEnded == true ? 1 : 0
  default: 0
  }
}
