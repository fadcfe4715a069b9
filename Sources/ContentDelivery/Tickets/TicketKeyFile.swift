import CoreTypes
import Crypto
import Files
import PullboxAPI
package import ServiceRuntime
import SystemCalls

/// The ticket keys on disk: `ticket-keys.json` in the state directory, readable by its owner alone, created at the
/// first start. Its form is `{"keys":[{"id":N,"secret":"<64 hexadecimal digits>","seals":TIME,"retired":TIME},…]}`, newest
/// first. A key opens tickets as soon as it is here, and seals them from `seals` on, at once without it; `retired` is the time
/// from which the next newer key seals.
package struct TicketKeyFile: Codable {
  struct Entry: Codable {
    var id: UInt32
    var secret: String
    var seals: Timestamp?
    var retired: Timestamp?

    init(id: UInt32, seals: Timestamp? = nil) {
      self.id = id
      self.seals = seals
      secret = Hexadecimal.encode(RandomBytes.make(32))
    }
  }

  /// Why the file cannot be used.
  struct Unusable: Error, CustomStringConvertible {
    package var path: String
    package var reason: String
    package var description: String { "\(path): \(reason)" }
  }

  /// How long a key is kept that has been replaced: the longest lifetime of a ticket.
  package static let memory = Duration.seconds(31 * 86_400)

  var keys: [Entry]

  package static func path(in state: String) -> String { state + "/ticket-keys.json" }

  /// For the start: creates a first key unless there is a file. Blocks.
  package static func loadOrCreate(_ path: String) throws -> TicketKeys {
    let bytes = try SecretFile.readOrCreate(path) {
      try APIJSON.encode(TicketKeyFile(keys: [Entry(id: 1)]))
    }
    return try keys(of: try decode(bytes.revealed, from: path), at: path)
  }

  /// For a server that runs: a missing file is an error, since a first key would refuse every ticket that is out.
  /// Blocks.
  package static func load(_ path: String) throws -> TicketKeys {
    try keys(of: try read(path), at: path)
  }

  /// Adds a new key in front, durably, and drops those that were retired longer ago than `memory`. The new one seals after
  /// `delay`, so that every server that the file is copied to opens its tickets by then. Returns its id. Throws while
  /// another rotation of the same file is under way, and where the file would be longer than a server reads. Blocks.
  static func rotate(
    _ path: String, at now: Timestamp, memory: Duration = TicketKeyFile.memory, delay: Duration = .zero
  ) throws -> UInt32 {
    // The directory is what stays: the file is replaced, and another one might belong to another user.
    let directory = try FileDescriptor.open(FileSystem.parent(of: path), .readOnly, options: .directory)
    guard try directory.lock() else {
      throw Unusable(path: path, reason: "another rotation is under way; try again")
    }
    var file = try read(path)
    _ = try keys(of: file, at: path)
    file.keys.removeAll { key in key.retired.map { $0 + memory < now } ?? false }
    if !file.keys.isEmpty { file.keys[0].retired = file.keys[0].retired ?? now + delay }
    let newest = Entry(
      id: (file.keys.map(\.id).max() ?? 0) &+ 1, seals: delay > .zero ? now + delay : nil)
    file.keys.insert(newest, at: 0)
    _ = try keys(of: file, at: path)
    let bytes = try APIJSON.encode(file)
    guard ByteCount(bytes.count) <= SecretFile.maximumLength else {
      let next = (file.keys.compactMap(\.retired).min() ?? now) + memory
      throw Unusable(
        path: path,
        reason:
          "with another key it would be longer than \(SecretFile.maximumLength), which no server reads; "
          + "rotate again after \(next), when the oldest key goes, or remove the file and restart the server, "
          + "which revokes all tickets")
    }
    try replace(path, with: bytes)
    withExtendedLifetime(directory) {}
    return newest.id
  }

  /// Root may rotate the keys too: the new file gets the owner of the old one before it takes its name.
  static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
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

  static func decode(_ bytes: [UInt8], from path: String) throws -> TicketKeyFile {
    do {
      return try APIJSON.decode(TicketKeyFile.self, from: bytes)
    } catch {
      throw Unusable(path: path, reason: APIJSON.explain(error))
    }
  }

  static func keys(of file: TicketKeyFile, at path: String) throws -> TicketKeys {
    let keys = try file.keys.map { entry in
      guard let secret = Hexadecimal.decode(entry.secret), secret.count >= 32 else {
        throw Unusable(path: path, reason: "key \(entry.id) is not 32 bytes in hexadecimal digits")
      }
      return TicketKeys.Key(
        identifier: entry.id, secret: MessageAuthenticationKey(secret: secret), seals: entry.seals)
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
package enum TicketKeyRotation {
  package static let option = CommandOption.flag(
    "rotate-ticket-key", environment: .none, key: .none,
    help:
      "Put a new ticket key in front of those in the state directory, and end; SIGHUP makes a server use it")

  package static let delayOption = CommandOption.value(
    "ticket-key-delay", "DURATION", environment: .none, key: .none,
    help:
      "With --rotate-ticket-key: seal with the new key only after that time, when all servers have the file")

  /// Prints the new key's id. `state` is the directory whose file has the keys. `rotate` adds the key where a database has them, with the
  /// delay that was asked for, and is nil where the file has them. Blocks.
  package static func run(
    _ arguments: ParsedArguments, state: () throws -> String,
    rotating rotate: (Duration?) throws -> (id: UInt32, delay: Duration)?
  ) -> ExitCode {
    do {
      let asked = arguments.value(delayOption.name) == nil ? nil : try Self.delay(arguments)
      let added = try rotate(asked) ?? rotateFile(in: state(), delay: asked ?? .zero)
      let (id, delay) = added
      let since = delay > .zero ? ", and seals in \(DurationText.short(delay))" : ""
      StandardStream.output.write("ticket key \(id) is in front\(since)\n")
      return .done
    } catch {
      StandardStream.error.write("pullbox-server: the ticket key was not rotated: \(error)\n")
      return .failed
    }
  }

  private static func rotateFile(in state: String, delay: Duration) throws -> (id: UInt32, delay: Duration) {
    let path = TicketKeyFile.path(in: state)
    return (try TicketKeyFile.rotate(path, at: SystemWallClock().now(), delay: delay), delay)
  }

  private static func delay(_ arguments: ParsedArguments) throws(UsageError) -> Duration {
    guard let text = arguments.value(delayOption.name) else { return .zero }
    guard let delay = ConfigurationDuration(text)?.duration, delay <= .seconds(86_400) else {
      throw UsageError("--ticket-key-delay takes a duration of at most a day, such as 10m")
    }
    return delay
  }
}
