internal import CTLS

/// OpenSSL's errors of the calling thread. Empty whenever nothing of this folder is at work.
enum TLSErrorQueue {
  /// Forgets what is there: a call that answers by the queue must find it empty.
  static func clear() {
    ERR_clear_error()
  }

  /// Takes everything, the oldest (the root) first, in words.
  static func take() -> String {
    var sentences: [String] = []
    while true {
      let code = ERR_get_error()
      if code == 0 { break }
      if let reason = unsafe ERR_reason_error_string(code) {
        sentences.append(unsafe String(cString: reason))
      } else if let reason = unsafe strerror(ctls_error_reason(code)) {
        // The reason of a system error is its number.
        sentences.append(unsafe String(cString: reason))
      }
    }
    return sentences.isEmpty ? "no reason given" : sentences.joined(separator: ", ")
  }
}
