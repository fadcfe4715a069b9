package import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// The keys of servers that share a database lie there. Each server has them in its file as well: where a backup, a move and a check of
/// the state directory find them.
extension TicketKeyFile {
  /// A key as the database has it.
  package struct Record: Hashable, Sendable {
    /// The number by which tickets name it.
    package var identifier: UInt32
    /// 32 bytes.
    package var secret: [UInt8]
    /// The time from which tickets are sealed with it.
    package var seals: Timestamp
    /// The time from which the next newer key seals; nil for the newest.
    package var retired: Timestamp?

    package init(identifier: UInt32, secret: [UInt8], seals: Timestamp, retired: Timestamp? = nil) {
      self.identifier = identifier
      self.secret = secret
      self.seals = seals
      self.retired = retired
    }
  }

  /// Returns the keys of the file, newest first; nil where there is none. Blocks. Throws what ``load(_:)`` throws.
  package static func records(_ path: String) throws -> [Record]? {
    guard let bytes = try SecretFile.read(path) else { return nil }
    let file = try decode(bytes.revealed, from: path)
    _ = try keys(of: file, at: path)
    return try file.keys.map { entry in
      guard let secret = Hexadecimal.decode(entry.secret) else {
        throw Unusable(path: path, reason: "key \(entry.id) is not in hexadecimal digits")
      }
      return Record(
        identifier: entry.id, secret: secret, seals: entry.seals ?? Timestamp(millisecondsSinceEpoch: 0),
        retired: entry.retired)
    }
  }

  /// Puts these keys, newest first, in place of those of the file, unless it has them. Blocks. Throws `SystemError`.
  package static func write(_ records: [Record], to path: String) throws {
    guard (try? self.records(path)) != records else { return }
    let file = TicketKeyFile(
      keys: records.map { record in
        var entry = Entry(id: record.identifier, seals: record.seals)
        entry.secret = Hexadecimal.encode(record.secret)
        entry.retired = record.retired
        return entry
      })
    try replace(path, with: try APIJSON.encode(file))
  }

  /// Returns what seals and opens tickets, newest first; nil for none.
  package static func keys(of records: [Record]) -> TicketKeys? {
    TicketKeys(
      records.map {
        TicketKeys.Key(
          identifier: $0.identifier, secret: MessageAuthenticationKey(secret: $0.secret), seals: $0.seals)
      })
  }
}
