import CCurl

/// Owns one `CURLM`. Everything but ``wake()`` belongs to the loop's thread.
@safe
final class MultiHandle: Sendable {
  // The pointer itself never changes. curl_multi_wakeup may be called from any thread while the handle lives;
  // the mailbox sees to that. All other calls come from one thread.
  nonisolated(unsafe) private let pointer: UnsafeMutableRawPointer

  init(configuration: HTTPClientConfiguration) throws(HTTPClientError) {
    guard let pointer = unsafe curl_multi_init() else {
      throw HTTPClientError(code: .internalFailure, message: "libcurl could not make a multi handle")
    }
    unsafe self.pointer = unsafe pointer
    do throws(HTTPClientError) {
      try set(CURLMOPT_MAXCONNECTS, to: configuration.maximumConnections)
      try set(CURLMOPT_MAX_HOST_CONNECTIONS, to: configuration.maximumConnectionsPerHost)
    } catch {
      close()
      throw error
    }
  }

  private func set(_ option: CURLMoption, to value: Int) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_multi_setopt_long(pointer, option, value), of: "curl_multi_setopt")
  }

  /// Makes a running or the next ``wait()`` return at once.
  func wake() {
    // Fails only where the socket pair is full of wake-ups, which is as good as one more.
    _ = unsafe curl_multi_wakeup(pointer)
  }

  func add(_ easy: EasyHandle) throws(HTTPClientError) {
    try CurlCall.check(unsafe curl_multi_add_handle(pointer, easy.pointer), of: "curl_multi_add_handle")
  }

  /// Ends the transfer, if it still runs, and closes its connection then.
  func remove(_ easy: EasyHandle) throws(HTTPClientError) {
    try CurlCall.check(unsafe curl_multi_remove_handle(pointer, easy.pointer), of: "curl_multi_remove_handle")
  }

  /// Does everything that can be done without waiting.
  func perform() throws(HTTPClientError) {
    var running: Int32 = 0
    try CurlCall.check(unsafe curl_multi_perform(pointer, &running), of: "curl_multi_perform")
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

  /// Waits for a socket, a time-out of libcurl's own, or ``wake()``.
  func wait() throws(HTTPClientError) {
    try CurlCall.check(unsafe curl_multi_poll(pointer, nil, 0, 60_000, nil), of: "curl_multi_poll")
  }

  /// Closes all kept connections. No easy handle may be left in, and nothing may be called afterwards.
  func close() {
    let result = unsafe curl_multi_cleanup(pointer)
    precondition(result == CURLM_OK, "curl_multi_cleanup: the handle is not ours")
  }
}
