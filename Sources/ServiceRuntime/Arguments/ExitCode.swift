import CLinux
import Glibc
import SystemCalls

/// The exit status of every executable of this project.
public struct ExitCode: RawRepresentable, Hashable, Sendable, Error {
  /// The status that the parent process sees, 0 to 255.
  public let rawValue: Int32

  /// A code without a name, such as 128 and the number of a signal.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// The program did what it was asked to do.
  public static let done = ExitCode(rawValue: 0)
  /// Any failure that has no code of its own.
  public static let failed = ExitCode(rawValue: 1)
  /// The command line cannot be understood.
  public static let usage = ExitCode(rawValue: 2)
  /// The device or the account has no right to the content.
  public static let notEntitled = ExitCode(rawValue: 3)
  /// The answer could not be found; the same command may succeed later.
  public static let undetermined = ExitCode(rawValue: 4)
  /// A file system or a quota is full.
  public static let noSpace = ExitCode(rawValue: 5)
  /// Bytes do not match their digest or their signature.
  public static let integrity = ExitCode(rawValue: 6)
  /// The subject of the command was found, and it is not in order.
  public static let notWell = ExitCode(rawValue: 7)
  /// A daemon's configuration is faulty: `EX_CONFIG` of sysexits(3). Units name it in `RestartPreventExitStatus=`, since another
  /// start would end the same way.
  public static let configuration = ExitCode(rawValue: 78)

  /// The code by which shells report a process that a signal killed.
  static func killed(by signal: Int32) -> ExitCode { ExitCode(rawValue: 128 + signal) }

  /// Ends a process whose result is what it printed: if standard output lost a part of it, ``done`` becomes a failure, and
  /// `program` says why on standard error.
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
