internal import CoreTypes
internal import Files
internal import SystemCalls

/// Room on the disk that is taken while there is enough of it, and given back when there is none: so that a database
/// can be opened on a full disk, and what makes room can be written down.
struct SpaceReserve: Sendable {
  /// Room that must be left beside it.
  private static let remainder = ByteCount.mebibytes(16)

  private let path: String
  private let length: ByteCount

  /// Creates the reserve of the database at `path`. A length of zero reserves nothing.
  init(of path: String, length: ByteCount) {
    self.path = path + "-reserve"
    self.length = length
  }

  /// Whether there was anything to give back.
  func release() -> Bool {
    (try? FileSystem.removeFile(path)) ?? false
  }

  /// Takes the room where it is not taken and there is enough of it. A file system that reserves nothing is none to
  /// complain about.
  func renew() {
    guard length > .zero, (try? FileSystem.status(of: path)) == nil,
      let free = try? FileSystem.freeSpace(at: FileSystem.parent(of: path)), free > length + Self.remainder
    else { return }
    do {
      let file = try FileDescriptor.open(path, .writeOnly, options: .create, permissions: 0o600)
      try file.allocate(length)
    } catch {
      _ = release()
    }
  }
}

extension Database {
  /// Returns the value of `body`. Where the disk is too full for its writes, `body` runs once more with the
  /// room that was reserved. For work that makes room, and for writes that must come before that can begin.
  public func usingReserve<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as DatabaseError where error.code == .outOfSpace {
      guard let reserve = engine.file?.reserve, await BlockingPool.shared.run({ reserve.release() }) else {
        throw error
      }
      return try await body()
    }
  }

  /// The same, for a thread of our own.
  public func usingReserveBlocking<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as DatabaseError where error.code == .outOfSpace {
      guard engine.file?.reserve.release() == true else { throw error }
      return try body()
    }
  }

  /// Reserves room again, if there is enough. Blocks for a moment.
  public func renewReserve() {
    engine.file?.reserve.renew()
  }
}
