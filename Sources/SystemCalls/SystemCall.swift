internal import CLinux
internal import Glibc

/// The one place through which this project's system calls pass: interrupted calls are repeated, a descriptor
/// or an address that is not ours traps (it can only be a defect), everything else is thrown with the call's
/// name.
public enum SystemCall {
  /// Runs `body` until it is not interrupted; throws ``SystemError`` when it returns -1.
  @discardableResult
  @inline(__always)
  @specialized(where Result == Int)
  @specialized(where Result == Int32)
  public static func run<Result: FixedWidthInteger & SignedInteger>(
    _ call: StaticString, subject: @autoclosure () -> String = "", _ body: () -> Result
  ) throws(SystemError) -> Result {
    while true {
      let result = body()
      if result != -1 { return result }
      let number = errno
      if number == EINTR { continue }
      precondition(number != EBADF && number != EFAULT, "\(call): a descriptor or an address is not ours")
      throw SystemError(number: number, call: "\(call)", subject: subject())
    }
  }

  /// Like ``run(_:subject:_:)``, but nil where the call would have to wait (`EAGAIN`): that is an answer, not
  /// an error. Not generic, because the loops make these calls for every request.
  public static func runWithoutWaiting(_ call: StaticString, _ body: () -> Int) throws(SystemError) -> Int? {
    while true {
      let result = body()
      if result != -1 { return result }
      let number = errno
      if number == EINTR { continue }
      if number == EAGAIN || number == EWOULDBLOCK { return nil }
      precondition(number != EBADF && number != EFAULT, "\(call): a descriptor or an address is not ours")
      throw SystemError(number: number, call: "\(call)", subject: "")
    }
  }

  /// The same for calls that return an `int`.
  public static func runWithoutWaiting(
    _ call: StaticString, _ body: () -> Int32
  ) throws(SystemError) -> Int32? {
    try runWithoutWaiting(call) { Int(body()) }.map { Int32(truncatingIfNeeded: $0) }
  }
}

/// A system call that failed for a reason of the environment (never for a defect of ours: those trap, see
/// ``SystemCall``).
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The `errno` value.
  public let number: Int32
  /// The call's name, as in its manual page's title (`openat`).
  public let call: String
  /// The object of the call: a path, an address. Empty where there is nothing to name.
  public let subject: String

  /// An error from its parts; public for tests and for other C libraries that set `errno`.
  public init(number: Int32, call: String, subject: String = "") {
    self.number = number
    self.call = call
    self.subject = subject
  }

  /// The call, its subject and strerror(3)'s words.
  public var description: String {
    var text = [CChar](repeating: 0, count: 128)
    let result = unsafe strerror_r(number, &text, text.count)
    let characters = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let message = result == 0 ? String(decoding: characters, as: UTF8.self) : "error \(number)"
    return subject.isEmpty ? "\(call): \(message)" : "\(call) \(subject): \(message)"
  }

  /// `EFBIG`: more bytes than may be.
  public var isTooLarge: Bool { number == EFBIG }
  /// `EPERM`: not for this user, whatever the permissions say.
  public var isNotPermitted: Bool { number == EPERM }
  /// `EOPNOTSUPP`, `ENOSYS` or `ENOLCK`: the file system cannot do that.
  public var isNotSupported: Bool { number == EOPNOTSUPP || number == ENOSYS || number == ENOLCK }
  /// `EROFS`: the file system may only be read.
  public var isReadOnly: Bool { number == EROFS }
  /// `ENOENT`.
  public var isFileMissing: Bool { number == ENOENT }
  /// `EEXIST` or `ENOTEMPTY`: the new name is used already.
  public var isFileInTheWay: Bool { number == EEXIST || number == ENOTEMPTY }
  /// The file system has no such thing: links, copies that share bytes, permissions, flags of a rename; or not
  /// between these two files.
  public var isUnsupported: Bool {
    [EPERM, EXDEV, EMLINK, EOPNOTSUPP, ENOSYS, ENOTTY, EINVAL].contains(number)
  }
  /// renameat2(2) does not know the flag here.
  package var isFlagUnknown: Bool { number == EINVAL || number == ENOSYS || number == EOPNOTSUPP }
  /// The file system takes no such name: it is too long, or has characters that are not allowed there.
  public var isNameRefused: Bool {
    (call == "openat" || call == "mkdirat") && [ENAMETOOLONG, EILSEQ, EINVAL].contains(number)
  }
  /// `EIO`, `EBADMSG` or `EUCLEAN`: what was written there does not come back from the device; or `EACCES`: not for this user.
  public var isUnreadable: Bool { [EIO, EBADMSG, EUCLEAN, EACCES].contains(number) }
  /// `ELOOP`, `EISDIR`, `ENOTDIR`, `ENXIO` or `ESPIPE`: where a file was expected there is a link, a directory, a socket, a
  /// device or a pipe.
  public var isNoRegularFile: Bool { [ELOOP, EISDIR, ENOTDIR, ENXIO, ESPIPE].contains(number) }
  /// No space, or the user's quota is used up.
  public var isOutOfSpace: Bool { number == ENOSPC || number == EDQUOT }
}
