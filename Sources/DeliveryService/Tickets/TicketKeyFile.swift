import CoreTypes
import Crypto
import PullboxAPI
public import ServiceRuntime
import SystemCalls

/// The ticket keys on disk: `ticket-keys.json` in the state directory, readable by its owner alone, created at the
/// first start. Its form is `{"keys":[{"id":N,"secret":"<64 hexadecimal digits>","retired":TIME},…]}`, newest first;
/// `retired` is the time at which the next newer key was added.
struct TicketKeyFile: Codable {
  private struct Entry: Codable {
    var id: UInt32
    var secret: String
    var retired: Timestamp?

    init(id: UInt32) {
      self.id = id
      secret = Hexadecimal.encode(RandomBytes.make(32))
    }
  }

  /// Why the file cannot be used.
  struct Unusable: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "\(path): \(reason)" }
  }

  private var keys: [Entry]

  static func path(in state: String) -> String { state + "/ticket-keys.json" }

  /// For the start: creates a first key unless there is a file. Blocks.
  static func loadOrCreate(_ path: String) throws -> TicketKeys {
    let bytes = try SecretFile.readOrCreate(path) {
      try APIJSON.encode(TicketKeyFile(keys: [Entry(id: 1)]))
    }
    return try keys(of: try decode(bytes.revealed, from: path), at: path)
  }

  /// For a server that runs: a missing file is an error, since a first key would refuse every ticket that is out.
  /// Blocks.
  static func load(_ path: String) throws -> TicketKeys {
    try keys(of: try read(path), at: path)
  }

  /// Adds a new key in front, durably, and drops those that were retired longer ago than `memory`, the longest
  /// lifetime of a ticket. Returns the new key's id. Blocks.
  static func rotate(_ path: String, at now: Timestamp, memory: Duration) throws -> UInt32 {
    var file = try read(path)
    _ = try keys(of: file, at: path)
    file.keys.removeAll { key in key.retired.map { $0 + memory < now } ?? false }
    if !file.keys.isEmpty { file.keys[0].retired = file.keys[0].retired ?? now }
    let newest = Entry(id: (file.keys.map(\.id).max() ?? 0) &+ 1)
    file.keys.insert(newest, at: 0)
    _ = try keys(of: file, at: path)
    let bytes = try APIJSON.encode(file)
    try replace(path, with: bytes)
    return newest.id
  }

  /// Root may rotate the keys too: the new file gets the owner of the old one before it takes its name.
  private static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    var file = try DurableFile(creating: path, permissions: 0o600)
    try file.append(bytes.span)
    if let owner = try FileSystem.status(of: path)?.owner, owner.user != FileOwner.ofThisProcess.user {
      try file.withDescriptor { descriptor throws(SystemError) in try descriptor.setOwner(owner) }
    }
    try file.publish()
  }

  private static func read(_ path: String) throws -> TicketKeyFile {
    guard let bytes = try SecretFile.read(path) else {
      throw Unusable(path: path, reason: "there is no such file")
    }
    return try decode(bytes.revealed, from: path)
  }

  private static func decode(_ bytes: [UInt8], from path: String) throws -> TicketKeyFile {
    do {
      return try APIJSON.decode(TicketKeyFile.self, from: bytes)
    } catch {
      throw Unusable(path: path, reason: APIJSON.explain(error))
    }
  }

  private static func keys(of file: TicketKeyFile, at path: String) throws -> TicketKeys {
    let keys = try file.keys.map { entry in
      guard let secret = Hexadecimal.decode(entry.secret), secret.count >= 32 else {
        throw Unusable(path: path, reason: "key \(entry.id) is not 32 bytes in hexadecimal digits")
      }
      return TicketKeys.Key(identifier: entry.id, secret: MessageAuthenticationKey(secret: secret))
    }
    guard Set(keys.map(\.identifier)).count == keys.count else {
      throw Unusable(path: path, reason: "two keys have the same id")
    }
    guard let ticketKeys = TicketKeys(keys) else { throw Unusable(path: path, reason: "it holds no key") }
    return ticketKeys
  }
}

/// `pullbox-server --rotate-ticket-key`: adds a new key in front of the ticket keys of a state directory. A running
/// server seals with it after its next SIGHUP, and still opens what it sealed before.
public enum TicketKeyRotation {
  static let option = CommandOption.flag(
    "rotate-ticket-key", environment: .none, key: .none,
    help:
      "Put a new ticket key in front of those in the state directory, and end; SIGHUP makes a server use it")

  /// Longer than any ticket lasts.
  static let memory = Duration.seconds(31 * 86_400)

  /// Whether the command line has the option.
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
