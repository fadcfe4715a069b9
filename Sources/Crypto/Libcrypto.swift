internal import COpenSSL

/// Judges what libcrypto's functions answer: this module asks nowhere else. A refusal leaves an entry in the error queue
/// of the thread, which a later call would mistake for its own; here the queue is emptied.
enum Libcrypto {
  /// SHA-256, for signatures. What `EVP_sha256()` gives is looked up by its name in each operation, under locks; this is found once, and
  /// kept until the process ends.
  nonisolated(unsafe) static let sha256: OpaquePointer = {
    guard let found = unsafe EVP_MD_fetch(nil, "SHA256", nil) else {
      preconditionFailure("libcrypto has no SHA-256")
    }
    return unsafe found
  }()

  /// Traps unless the call succeeded: for calls that can only fail when memory or the library itself is broken, where
  /// continuing would be unsafe.
  ///
  /// - Parameter operation: completes "libcrypto refused to …".
  @inline(__always)
  static func require(_ succeeded: Bool, _ operation: StaticString) {
    guard succeeded else { preconditionFailure("libcrypto refused to \(operation)") }
  }

  /// Whether the call succeeded: for calls whose failure is an answer, such as a signature that does not fit.
  static func accepts(_ succeeded: Bool) -> Bool {
    if !succeeded { ERR_clear_error() }
    return succeeded
  }
}
