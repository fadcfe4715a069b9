import COpenSSL

/// libcrypto's error queue of the current thread. It is cleared before every use of the library and drained after a
/// failure, so that no call is blamed for an earlier one.
enum LibcryptoErrors {
  static func clear() { ERR_clear_error() }

  /// The first reason in the queue, which is emptied; "no reason given" for an empty queue.
  static func drain() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = unsafe ERR_reason_error_string(code) else { return "no reason given" }
    return unsafe String(cString: text)
  }
}
