internal import Glibc

/// A system call that failed for a reason of the environment (never for a defect of ours: those trap, see
/// ``SystemCall``).
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The `errno` value.
  public let number: Int32
  /// The call's name, as in its manual page's title (`openat`).
  public let call: String
  /// What it was asked to work on: a path, an address. Empty where there is nothing to name.
  public let subject: String

  public init(number: Int32, call: String, subject: String = "") {
    self.number = number
    self.call = call
    self.subject = subject
  }

  public var description: String {
    var text = [CChar](repeating: 0, count: 128)
    let result = unsafe strerror_r(number, &text, text.count)
    let characters = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let message = result == 0 ? String(decoding: characters, as: UTF8.self) : "error \(number)"
    return subject.isEmpty ? "\(call): \(message)" : "\(call) \(subject): \(message)"
  }

  public var isFileMissing: Bool { number == ENOENT }
  public var isFileInTheWay: Bool { number == EEXIST || number == ENOTEMPTY }
  /// No space, or the user's quota is used up.
  public var isOutOfSpace: Bool { number == ENOSPC || number == EDQUOT }
}
