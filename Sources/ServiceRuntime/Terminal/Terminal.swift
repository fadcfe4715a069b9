import CLinux
import Glibc
import SystemCalls

/// The terminal that a standard stream may be.
public struct Terminal: Sendable {
  /// Descriptor 0.
  public static let standardInput = Terminal(descriptor: 0)
  /// Descriptor 1.
  public static let standardOutput = Terminal(descriptor: 1)
  /// Descriptor 2.
  public static let standardError = Terminal(descriptor: 2)

  /// The number of the descriptor.
  private let descriptor: Int32

  /// The terminal of that descriptor, if it is one.
  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Whether the stream is a terminal that can move its cursor (`TERM` is not `dumb`).
  public var isTerminal: Bool {
    isatty(descriptor) == 1 && ProcessEnvironment.variables["TERM"] != "dumb"
  }

  /// Its width now, 80 if it does not tell; nil unless this is a terminal.
  public var columns: Int? {
    guard isTerminal else { return nil }
    let columns = Int(clinux_terminal_columns(descriptor))
    return columns > 0 ? columns : 80
  }

  /// Its height now, 24 if it does not tell; nil unless this is a terminal.
  public var rows: Int? {
    guard isTerminal else { return nil }
    let rows = Int(clinux_terminal_rows(descriptor))
    return rows > 0 ? rows : 24
  }

  /// Whether to write in colors unless something says otherwise: on a terminal, unless `NO_COLOR` (https://no-color.org) is set to
  /// anything.
  public var showsColor: Bool {
    isTerminal && (ProcessEnvironment.variables["NO_COLOR"] ?? "").isEmpty
  }
}
