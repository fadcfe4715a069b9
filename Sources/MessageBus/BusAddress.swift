/// The bus to connect to.
public enum BusAddress: Hashable, Sendable {
  /// The bus of the machine: `DBUS_SYSTEM_BUS_ADDRESS`, or `/run/dbus/system_bus_socket`.
  case system
  /// The bus of the user: `DBUS_SESSION_BUS_ADDRESS`, or `$XDG_RUNTIME_DIR/bus`.
  case session
  /// An address of the D-Bus specification ("Server addresses"); only Unix sockets are connected to.
  case address(String)

  /// Returns the address by the environment. Throws `addressMissing`, and `invalidValue` for another kind than a Unix socket: one that
  /// starts a program (`unixexec:`, `autolaunch:`) must not come from the environment.
  func text(environment: [String: String]) throws(BusError) -> String {
    let text: String
    switch self {
    case .system: text = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
    case .session:
      if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty {
        text = address
      } else if let directory = environment["XDG_RUNTIME_DIR"], !directory.isEmpty {
        text = "unix:path=" + Self.escaped(directory + "/bus")
      } else {
        throw BusError(
          .addressMissing, "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR names the user's bus")
      }
    case .address(let address): text = address
    }
    let addresses = text.split(separator: ";")
    guard !addresses.isEmpty, addresses.allSatisfy({ $0.hasPrefix("unix:") }), !text.utf8.contains(0) else {
      throw BusError(.invalidValue, "the bus's address is no Unix socket: \(text)")
    }
    return text
  }

  /// Returns a path as addresses write it: bytes beside letters, digits and `-_/.\*` as a percent sign and two digits.
  static func escaped(_ path: String) -> String {
    var text = ""
    for byte in path.utf8 {
      if BusSyntax.isWord(byte, dashes: true) || "/.*\\".utf8.contains(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16)
        text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return text
  }
}
