import CCurl
import CLinux
import CoreTypes
import Glibc
import SystemCalls

/// Owns one `CURLM`, and waits for what its transfers wait for. Belongs to the loop's thread.
///
/// libcurl says which socket it waits for, and for what; so a turn looks at sockets that something has come to, and not at every
/// transfer that runs.
@safe
final class MultiHandle {
  // Owned here alone, and closed by close() alone.
  nonisolated(unsafe) private let pointer: UnsafeMutableRawPointer
  private let epoll: FileDescriptor
  /// The events that libcurl waits for at each socket, in epoll's bits. A socket that it waits for no more
  /// stays with epoll until something comes to it: most are waited for again by the next transfer over the
  /// same connection. Zero for such a socket, and for one that was closed meanwhile, which epoll has
  /// forgotten by itself.
  private var interests: [curl_socket_t: UInt32] = [:]
  private var events: [epoll_event]
  private var eventCount = 0

  private static let eventsPerTurn = 128
  /// Names the descriptor that wakes the loop; sockets have smaller numbers.
  private static let wakeUpTag = UInt64.max
  private static let longestWait: Int = 60_000

  /// `wakeUp` becomes readable to end ``wait()``.
  init(configuration: HTTPClientConfiguration, wakeUp: borrowing FileDescriptor) throws(HTTPClientError) {
    unsafe events = [epoll_event](repeating: epoll_event(), count: Self.eventsPerTurn)
    epoll = try Self.makeEpoll(with: wakeUp.number)
    guard let pointer = unsafe curl_multi_init() else {
      throw HTTPClientError(code: .internalFailure, message: "libcurl could not make a multi handle")
    }
    unsafe self.pointer = unsafe pointer
    do throws(HTTPClientError) {
      try set(CURLMOPT_MAXCONNECTS, to: configuration.maximumConnections)
      try set(CURLMOPT_MAX_HOST_CONNECTIONS, to: configuration.maximumConnectionsPerHost)
      try CurlCall.check(
        unsafe ccurl_multi_setopt_socket_callback(
          pointer, watchSocket, Unmanaged.passUnretained(self).toOpaque()),
        of: "curl_multi_setopt")
    } catch {
      close()
      throw error
    }
  }

  private static func makeEpoll(with wakeUp: Int32) throws(HTTPClientError) -> FileDescriptor {
    do {
      let epoll = FileDescriptor(
        takingOwnershipOf: try SystemCall.run("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
      var event = unsafe clinux_epoll_event(EPOLLIN.rawValue, Self.wakeUpTag)
      let number = epoll.number
      try SystemCall.run("epoll_ctl") { unsafe epoll_ctl(number, EPOLL_CTL_ADD, wakeUp, &event) }
      return epoll
    } catch {
      throw HTTPClientError(code: .internalFailure, message: "\(error)")
    }
  }

  private func set(_ option: CURLMoption, to value: Int) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_multi_setopt_long(pointer, option, value), of: "curl_multi_setopt")
  }

  func add(_ easy: EasyHandle) throws(HTTPClientError) {
    try CurlCall.check(unsafe curl_multi_add_handle(pointer, easy.pointer), of: "curl_multi_add_handle")
  }

  /// Ends the transfer, if it still runs, and closes its connection then.
  func remove(_ easy: EasyHandle) throws(HTTPClientError) {
    try CurlCall.check(unsafe curl_multi_remove_handle(pointer, easy.pointer), of: "curl_multi_remove_handle")
  }

  /// Does what can be done without waiting: for the sockets that ``wait()`` found, and for transfers that have begun, were resumed
  /// or whose time is over.
  func perform() throws(HTTPClientError) {
    var running: Int32 = 0
    for index in 0..<eventCount {
      let tag = unsafe clinux_epoll_tag(&events[index])
      guard tag != Self.wakeUpTag else { continue }
      let socket = curl_socket_t(truncatingIfNeeded: tag)
      guard interests[socket] ?? 0 != 0 else {
        forget(socket)
        continue
      }
      let happened = unsafe events[index].events
      // An error is read from the socket.
      let isReadable = happened & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      let isWritable = happened & EPOLLOUT.rawValue != 0
      let action = (isReadable ? CURL_CSELECT_IN : 0) | (isWritable ? CURL_CSELECT_OUT : 0)
      try CurlCall.check(
        unsafe curl_multi_socket_action(pointer, socket, action, &running), of: "curl_multi_socket_action")
    }
    eventCount = 0
    if try timeout() == 0 {
      try CurlCall.check(unsafe ccurl_multi_timeout_action(pointer, &running), of: "curl_multi_socket_action")
    }
  }

  /// The next transfer that has ended, by the address of its easy handle.
  func nextCompletion() -> (easy: UInt, result: CURLcode)? {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(pointer, &left) {
      if unsafe message.pointee.msg == CURLMSG_DONE {
        return unsafe (UInt(bitPattern: message.pointee.easy_handle), ccurl_message_result(message))
      }
    }
    return nil
  }

  /// Waits for a socket, a time-out of libcurl's own, or the descriptor that wakes; true where that has come.
  func wait() throws(HTTPClientError) -> Bool {
    let timeout = Int32(clamping: min(try timeout() ?? Self.longestWait, Self.longestWait))
    let number = epoll.number
    let count = unsafe events.withUnsafeMutableBufferPointer { events in
      unsafe epoll_wait(number, events.baseAddress, Int32(events.count), timeout)
    }
    // A signal is no event.
    eventCount = max(0, Int(count))
    return (0..<eventCount).contains { unsafe clinux_epoll_tag(&events[$0]) == Self.wakeUpTag }
  }

  /// Milliseconds until libcurl wants to be called though nothing comes; nil where it does not.
  private func timeout() throws(HTTPClientError) -> Int? {
    var milliseconds = 0
    try CurlCall.check(unsafe curl_multi_timeout(pointer, &milliseconds), of: "curl_multi_timeout")
    return milliseconds < 0 ? nil : milliseconds
  }

  /// libcurl waits at the socket for these events from now on; false where epoll cannot.
  fileprivate func watch(_ socket: curl_socket_t, for interest: UInt32) -> Bool {
    let known = interests.updateValue(interest, forKey: socket)
    guard interest != 0 else { return true }
    // What is known may have been closed, and another socket have its number.
    return known != nil && control(EPOLL_CTL_MOD, socket, interest)
      || control(EPOLL_CTL_ADD, socket, interest)
  }

  private func forget(_ socket: curl_socket_t) {
    interests[socket] = nil
    _ = control(EPOLL_CTL_DEL, socket, 0)
  }

  private func control(_ operation: Int32, _ socket: curl_socket_t, _ interest: UInt32) -> Bool {
    var event = unsafe clinux_epoll_event(interest, UInt64(UInt32(bitPattern: socket)))
    return unsafe epoll_ctl(epoll.number, operation, socket, &event) == 0
  }

  /// Closes all kept connections. No easy handle may be left in, and nothing may be called afterwards.
  func close() {
    let result = unsafe curl_multi_cleanup(pointer)
    precondition(result == CURLM_OK, "curl_multi_cleanup: the handle is not ours")
  }
}

/// Called by libcurl during a call of ours, on the loop's thread.
private func watchSocket(
  _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32,
  _ target: UnsafeMutableRawPointer?,
  _ unused: UnsafeMutableRawPointer?
) -> Int32 {
  guard let target = unsafe target else { return -1 }
  let interest: UInt32 =
    switch what {
    case CURL_POLL_IN: EPOLLIN.rawValue
    case CURL_POLL_OUT: EPOLLOUT.rawValue
    case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
    default: 0
    }
  let multi = unsafe Unmanaged<MultiHandle>.fromOpaque(target).takeUnretainedValue()
  return multi.watch(socket, for: interest) ? 0 : -1
}
