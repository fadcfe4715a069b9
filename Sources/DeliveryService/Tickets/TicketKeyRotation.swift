import CoreTypes
public import ServiceRuntime

/// `pullbox-server --rotate-ticket-key`: a new key in front of the ticket keys of a state directory. A server that runs
/// seals with it after its next SIGHUP, and goes on to open what it sealed before.
public enum TicketKeyRotation {
  static let option = CommandOption.flag(
    "rotate-ticket-key", environment: .none, key: .none,
    help:
      "Put a new ticket key in front of those in the state directory, and end; SIGHUP makes a server use it")

  /// Longer than any ticket lasts.
  static let memory = Duration.seconds(31 * 86_400)

  public static func isAsked(_ arguments: ParsedArguments) -> Bool { arguments.isSet(option.name) }

  /// Prints the new key's id. Needs the state directory (`--state`, `PULLBOX_STATE`) and nothing else of a configuration.
  /// Blocks.
  public static func run(_ arguments: ParsedArguments) -> ExitCode {
    do {
      let path = TicketKeyFile.path(in: try arguments.required("state"))
      let id = try TicketKeyFile.rotate(path, at: SystemWallClock().now(), memory: memory)
      StandardStream.output.write("ticket key \(id) is in front\n")
      return .done
    } catch {
      StandardStream.error.write("pullbox-server: the ticket key was not rotated: \(error)\n")
      return .failed
    }
  }
}
