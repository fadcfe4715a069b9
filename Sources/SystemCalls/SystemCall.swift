internal import Glibc

/// The one place through which this project's system calls pass: interrupted calls are repeated, a descriptor or an
/// address that is not ours traps (it can only be a defect), everything else is thrown with the call's name.
public enum SystemCall {
  /// Runs `body` until it is not interrupted; throws ``SystemError`` when it answers -1.
  @discardableResult
  @inline(__always)
  @specialized(where Result == Int)
  @specialized(where Result == Int32)
  public static func run<Result: FixedWidthInteger & SignedInteger>(
    _ call: StaticString, _ subject: @autoclosure () -> String = "", _ body: () -> Result
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

  /// As ``run(_:_:_:)``, but nil where the call would have to wait (`EAGAIN`): that is an answer, not an error. Not
  /// generic, as the loops make these calls for every request.
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

  /// The same for calls that answer an `int`.
  public static func runWithoutWaiting(
    _ call: StaticString, _ body: () -> Int32
  ) throws(SystemError) -> Int32? {
    try runWithoutWaiting(call) { Int(body()) }.map { Int32(truncatingIfNeeded: $0) }
  }
}
