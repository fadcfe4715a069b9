import CLinux
import Glibc

/// What stands behind a standard stream.
public struct Terminal: Sendable {
  public static let standardInput = Terminal(descriptor: 0)
  public static let standardOutput = Terminal(descriptor: 1)
  public static let standardError = Terminal(descriptor: 2)

  private let descriptor: Int32

  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// False also for a terminal that says it cannot move its cursor (`TERM=dumb`).
  public var isTerminal: Bool {
    isatty(descriptor) == 1 && ProcessEnvironment.variables["TERM"] != "dumb"
  }

  /// Its width now, 80 where it does not tell; nil where this is no terminal.
  public var columns: Int? {
    guard isTerminal else { return nil }
    let columns = Int(clinux_terminal_columns(descriptor))
    return columns > 0 ? columns : 80
  }

  /// Its height now, 24 where it does not tell; nil where this is no terminal.
  public var rows: Int? {
    guard isTerminal else { return nil }
    let rows = Int(clinux_terminal_rows(descriptor))
    return rows > 0 ? rows : 24
  }

  /// Whether to write in colors: on a terminal, unless `NO_COLOR` (https://no-color.org) is set to anything.
  public var showsColor: Bool {
    isTerminal && (ProcessEnvironment.variables["NO_COLOR"] ?? "").isEmpty
  }
}
