public import CoreTypes

/// `GET /v1/operator/server`: the server that answers, the room that it has, and its last backup.
public struct ServerStatus: Codable, Hashable, Sendable {
  /// The room of the file system with the state directory.
  public struct Room: Codable, Hashable, Sendable {
    /// Bytes that the server may still write.
    public var free: ByteCount
    /// The size of the file system.
    public var size: ByteCount

    /// Creates the document from its members.
    public init(free: ByteCount, size: ByteCount) {
      self.free = free
      self.size = size
    }
  }

  /// A complete backup.
  public struct Backup: Codable, Hashable, Sendable {
    /// The moment at which the backup's database was copied.
    public var made: Timestamp
    /// Its name in the directory of backups.
    public var generation: String
    /// The length of all of its files, with those that it shares with the generation before.
    public var length: ByteCount

    /// Creates the document from its members.
    public init(made: Timestamp, generation: String, length: ByteCount) {
      self.made = made
      self.generation = generation
      self.length = length
    }
  }

  /// The version of the program.
  public var version: String
  /// The name of this server among those that share a database.
  public var node: String
  /// When it was started, by its own clock.
  public var started: Timestamp
  /// Absent where it cannot be asked for.
  public var room: Room?
  /// The last backup of the state directory; absent for one that was never backed up.
  public var backup: Backup?
  /// When the first certificate of the chain in use ends; absent without TLS.
  public var certificateExpires: Timestamp?

  /// Creates the document from its members.
  public init(
    version: String, node: String, started: Timestamp, room: Room? = nil, backup: Backup? = nil,
    certificateExpires: Timestamp? = nil
  ) {
    self.version = version
    self.node = node
    self.started = started
    self.room = room
    self.backup = backup
    self.certificateExpires = certificateExpires
  }
}
