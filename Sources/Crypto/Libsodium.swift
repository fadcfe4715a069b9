internal import CSodium

/// Judges what libsodium's functions answer: this module asks nowhere else.
enum Libsodium {
  private static let started: Void = require(sodium_init() >= 0, "start")

  /// Before the first call of a process: libsodium finds out what the processor can do. Costs next to nothing when repeated.
  static func start() { started }

  /// Traps unless the call succeeded: for calls that can only fail when the library itself is broken, where continuing would be
  /// unsafe.
  ///
  /// - Parameter operation: completes "libsodium refused to …".
  static func require(_ succeeded: Bool, _ operation: StaticString) {
    guard succeeded else { preconditionFailure("libsodium refused to \(operation)") }
  }
}
