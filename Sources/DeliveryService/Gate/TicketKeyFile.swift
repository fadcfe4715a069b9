import Digests
import PullboxAPI
import ServiceRuntime

/// The ticket keys on disk: `ticket-keys.json` in the state directory, readable by its owner alone, made at the first
/// start. `{"keys":[{"id":N,"secret":"<64 hexadecimal digits>"},…]}`, newest first; put a new key in front to rotate,
/// and drop an old one when its tickets have expired.
struct TicketKeyFile: Codable {
  private struct Entry: Codable {
    var id: UInt32
    var secret: String
  }

  /// Why the file cannot be used.
  struct Unusable: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "\(path): \(reason)" }
  }

  private var keys: [Entry]

  /// Blocks.
  static func load(_ path: String) throws -> TicketKeys {
    let bytes = try SecretFile.readOrCreate(path) {
      let first = Entry(id: 1, secret: Hexadecimal.encode(RandomBytes.make(32)))
      return try WireJSON.encode(TicketKeyFile(keys: [first]))
    }
    let file: TicketKeyFile
    do {
      file = try WireJSON.decode(TicketKeyFile.self, from: bytes.revealed)
    } catch {
      throw Unusable(path: path, reason: WireJSON.explain(error))
    }
    let keys = try file.keys.map { entry in
      guard let secret = Hexadecimal.decode(entry.secret), secret.count >= 32 else {
        throw Unusable(path: path, reason: "key \(entry.id) is not 32 bytes in hexadecimal digits")
      }
      return TicketKeys.Key(identifier: entry.id, secret: MessageAuthenticationKey(secret: secret))
    }
    guard Set(keys.map(\.identifier)).count == keys.count else {
      throw Unusable(path: path, reason: "two keys have the same id")
    }
    guard let ring = TicketKeys(keys) else { throw Unusable(path: path, reason: "it holds no key") }
    return ring
  }
}
