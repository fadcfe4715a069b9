import CLinux
import Glibc
public import SystemCalls

/// The sockets a service manager opened for this process: sd_listen_fds(3), `LISTEN_FDS`, `LISTEN_PID` and
/// `LISTEN_FDNAMES`.
public enum InheritedSockets {
  /// The variables of sd_listen_fds(3), which ``adopt()`` removes.
  private static let variables = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]
  /// The first comes after standard input, output and error.
  private static let firstNumber: Int32 = 3

  /// Answers the sockets, which programs that this process starts do not inherit, and removes the variables, so that a
  /// second call answers none. None either when no socket was handed over, or to another process. Call it before there is
  /// a thread that reads the environment.
  public static func adopt() throws(InheritedSocketError) -> [InheritedSocket] {
    let environment = ProcessEnvironment.variables
    for variable in variables { unsafe unsetenv(variable) }
    return try adopt(environment: environment, process: getpid(), from: firstNumber)
  }

  /// The sockets that those variables hand to the process of that identifier, whose first descriptor is `first`.
  static func adopt(
    environment: [String: String], process: Int32, from first: Int32
  ) throws(InheritedSocketError) -> [InheritedSocket] {
    guard let owner = environment["LISTEN_PID"], let text = environment["LISTEN_FDS"] else { return [] }
    guard let owner = Int32(owner) else { throw InheritedSocketError("LISTEN_PID is not a number: \(owner)") }
    guard owner == process else { return [] }
    guard let count = Int32(text), (0...1024).contains(count) else {
      throw InheritedSocketError("LISTEN_FDS is not a number of sockets: \(text)")
    }
    let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
    guard names.isEmpty || names.count == Int(count) else {
      throw InheritedSocketError("LISTEN_FDNAMES has \(names.count) names for \(count) sockets")
    }
    // All must be there before one is taken: what is taken is closed when this throws.
    for number in first..<first + count where fcntl(number, F_SETFD, FD_CLOEXEC) == -1 {
      throw InheritedSocketError("descriptor \(number) of LISTEN_FDS=\(count) is not open")
    }
    return (0..<count).map { position in
      InheritedSocket(
        FileDescriptor(takingOwnershipOf: first + position),
        name: names.isEmpty ? "unknown" : String(names[Int(position)]))
    }
  }
}

/// Why inherited sockets cannot be taken over.
public struct InheritedSocketError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The fault, in words without a full stop.
  public let message: String

  /// An error with that sentence.
  init(_ message: String) {
    self.message = message
  }

  /// One line.
  public var description: String { "the inherited sockets cannot be used: \(message)" }
}
