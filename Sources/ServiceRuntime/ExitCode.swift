import Glibc
import SystemCalls

/// What every executable of this project tells its caller.
public struct ExitCode: RawRepresentable, Hashable, Sendable, Error {
  public let rawValue: Int32

  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  public static let done = ExitCode(rawValue: 0)
  public static let failed = ExitCode(rawValue: 1)
  public static let usage = ExitCode(rawValue: 2)
  public static let notEntitled = ExitCode(rawValue: 3)
  /// Nobody could say yes or no; the same command may succeed later.
  public static let undetermined = ExitCode(rawValue: 4)
  public static let noSpace = ExitCode(rawValue: 5)
  /// Bytes are not what their digest says.
  public static let integrity = ExitCode(rawValue: 6)

  /// As shells report a process ended by a signal.
  static func killed(by signal: Int32) -> ExitCode { ExitCode(rawValue: 128 + signal) }

  /// Ends a process whose result is what it printed: where standard output could not take that, a result that was good is none,
  /// and `program` says why.
  public func exitProcess(printing program: String) -> Never {
    guard self == .done, let loss = StandardStream.output.loss else { exitProcess() }
    StandardStream.error.write("\(program): standard output was not written: \(loss)\n")
    (loss.isOutOfSpace ? ExitCode.noSpace : .failed).exitProcess()
  }

  /// Ends the process, running what `atexit` was given.
  public func exitProcess() -> Never {
    exit(rawValue)
  }
}
