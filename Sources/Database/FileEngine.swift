internal import CoreTypes
internal import Files
internal import SystemCalls

/// A file of SQLite: one connection that writes, several that read.
package final class FileEngine: DatabaseEngine {
  /// Less room than this on the disk lets ``Database/check()`` try to write.
  private static let tightRoom = ByteCount.mebibytes(4)

  let reserve: SpaceReserve
  private let writer: Writer
  private let readers: Readers
  private let path: String
  private let longestWait: Duration?

  private init(path: String, writer: Writer, readers: Readers, reserve: SpaceReserve, longestWait: Duration?)
  {
    self.longestWait = longestWait
    self.path = path
    self.writer = writer
    self.readers = readers
    self.reserve = reserve
  }

  /// Does what ``Database/open(path:migrations:options:)`` says.
  static func open(path: String, migrations: [Migration], options: Database.Options) throws -> FileEngine {
    // SQLite would make it readable by every user; its companions take its permissions.
    _ = try FileDescriptor.open(path, .readWrite, options: .create, permissions: 0o600)
    let log = StatementLog()
    let reserve = SpaceReserve(of: path, length: options.reserve)
    let writer = Writer(path: path, options: options, log: log)
    do {
      try writer.open(migrations)
    } catch let error as DatabaseError where error.isOfStorage {
      guard reserve.release() else { throw error }
      try writer.open(migrations)
    }
    // Not while the disk is full: the room would be taken back at once.
    reserve.renew()
    let readers = Readers(path: path, options: options, log: log)
    do {
      try readers.open()
    } catch {
      writer.queue.close()
      writer.start()
      writer.join()
      throw error
    }
    writer.start()
    readers.start()
    return FileEngine(
      path: path, writer: writer, readers: readers, reserve: reserve, longestWait: options.longestWait)
  }

  package var reads: BodyQueue { readers.queue }
  package var writes: BodyQueue { writer.queue }
  package var isWriting: Bool { writer.isCurrent }
  package var isReading: Bool { readers.areCurrent }
  package var changes: ChangeCounts { writer.changes }
  package var lastWriteFailure: DatabaseError? { writer.failure.value }
  package var file: FileEngine? { self }

  /// Whether hardly any room is left on the disk. Blocks for a moment.
  var isTight: Bool {
    ((try? FileSystem.freeSpace(at: FileSystem.parent(of: path))) ?? .zero) < Self.tightRoom
  }

  /// Returns the lengths of the file and its log. Blocks for a moment.
  func lengths() throws(SystemError) -> DatabaseStatistics.File {
    DatabaseStatistics.File(
      length: try FileSystem.status(of: path)?.length ?? .zero,
      logLength: try FileSystem.status(of: path + "-wal")?.length ?? .zero)
  }

  package func optimize() async throws {
    let called = CalledBody(locks: [.everything], waitingAtMost: nil) { [readers] in
      // A connection reads the statistics once, when it is opened.
      readers.renew()
    } _: { connection in
      try connection.execute(script: "PRAGMA analysis_limit = 400; ANALYZE")
    }
    try await called.end(in: writes)
  }

  package func checkWritable() async throws {
    let called = CalledBody(waitingAtMost: longestWait) { connection in
      let version = try connection.first("PRAGMA user_version")?.integer("user_version") ?? 0
      // A pragma takes no bound value; this one is a number of ours.
      try connection.execute("PRAGMA user_version = \(version)")
    }
    try await called.end(in: writes)
  }

  package func abandon() {
    readers.queue.close()
    writer.queue.close()
  }

  package func close() {
    readers.queue.close()
    readers.join()
    writer.queue.close()
    writer.join()
  }
}
