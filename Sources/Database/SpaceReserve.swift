internal import CoreTypes
internal import SystemCalls

/// Room on the disk that is taken while there is enough of it, and given back when there is none: so that a database
/// can be opened on a full disk, and what makes room can be written down.
struct SpaceReserve: Sendable {
  /// Room that must be left beside it.
  private static let remainder = ByteCount.mebibytes(16)

  private let path: String
  private let length: ByteCount

  /// Of the database at `path`. A length of zero reserves nothing.
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
  /// Gives the room that was reserved back if the last write found none, so that what makes room can be written down.
  /// Blocks for a moment.
  public func releaseReserve() {
    if lastWriteFailure?.code == .outOfSpace { _ = reserve.release() }
  }

  /// Reserves room again, if there is enough. Blocks for a moment.
  public func renewReserve() {
    reserve.renew()
  }
}
