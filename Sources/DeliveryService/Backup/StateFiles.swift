import CoreTypes
import Crypto
import Database
import Files
import Glibc
import Synchronization
import SystemCalls

/// Files of a state directory, read and copied as a whole.
enum StateFiles {
  /// Bytes of one read: 1 MiB.
  private static let chunk = 1 << 20

  /// Throws ``StateCareError`` `noState` where there is no `server.db`, and `damaged` for one that no server
  /// made. Blocks.
  static func requireDatabase(in state: String) throws {
    let path = state + "/server.db"
    guard try FileSystem.status(of: path) != nil else {
      throw StateCareError(.noState, "\(state): there is no server.db")
    }
    // SQLite takes an empty file for an empty database, and writes to it.
    var beginning: [UInt8] = []
    try FileDescriptor.open(path, .readOnly).read(upTo: 16, at: .zero, into: &beginning)
    let isDatabase = beginning.elementsEqual("SQLite format 3\0".utf8)
    let version = try isDatabase ? Database.inspect(path) { try $0.schemaVersion() } : 0
    guard version > 0 else { throw StateCareError(.damaged, "\(path) is no Pullbox database") }
  }

  /// The digest of a regular file. Blocks while all of it is read.
  static func digest(of path: String) throws(SystemError) -> SHA256Digest {
    let file = try FileDescriptor.openRegularFile(path)
    var hasher = SHA256Hasher()
    var offset = ByteCount.zero
    var bytes: [UInt8] = []
    while true {
      bytes.removeAll(keepingCapacity: true)
      try file.read(upTo: chunk, at: offset, into: &bytes)
      if bytes.isEmpty { return hasher.finalize() }
      hasher.update(bytes.span)
      offset += ByteCount(bytes.count)
    }
  }

  /// Copies a regular file, which only its owner may read then, in place of one that is there; answers the digest of what was
  /// written. It is on the device when this returns. Blocks while all of it is read. Throws ``SystemError``;
  /// what was there before stays then.
  static func copy(
    _ path: String, to newPath: String, operations: any FileOperations
  ) throws(SystemError) -> SHA256Digest {
    let source = try FileDescriptor.openRegularFile(path)
    var target = try DurableFile(creating: newPath, permissions: 0o600, operations: operations)
    var hasher = SHA256Hasher()
    var offset = ByteCount.zero
    var bytes: [UInt8] = []
    while true {
      bytes.removeAll(keepingCapacity: true)
      try operations.read(upTo: chunk, of: source, at: offset, into: &bytes)
      if bytes.isEmpty { break }
      hasher.update(bytes.span)
      try target.append(bytes.span)
      offset += ByteCount(bytes.count)
    }
    try target.publish()
    return hasher.finalize()
  }

  /// Gives a file in a directory to that directory's owner, where root has made it. Throws ``SystemError``.
  static func give(_ path: String, toOwnerOf directory: String) throws(SystemError) {
    guard let owner = try FileSystem.status(of: directory)?.owner, owner != .ofThisProcess else { return }
    try FileDescriptor.open(path, .readOnly, options: .doNotFollow).setOwner(owner)
  }

  /// Gives everything below a directory to that directory's owner, where root has made it. Throws
  /// ``SystemError``.
  static func giveToOwner(of directory: String) throws(SystemError) {
    guard let owner = try FileSystem.status(of: directory)?.owner, owner != .ofThisProcess else { return }
    for entry in try FileSystem.list(directory) {
      let path = "\(directory)/\(entry.name)"
      let options: FileDescriptor.Options = entry.kind == .directory ? .directory : .doNotFollow
      try FileDescriptor.open(path, .readOnly, options: options).setOwner(owner)
      if entry.kind == .directory { try giveToOwner(of: path) }
    }
  }
}

/// Keeps a thread that reads to a number of bytes a second. Counts from its first read on.
final class ReadingRate: Sendable {
  /// At least 1; nil where nothing is held back.
  private let bytesPerSecond: Int64?
  private let clock: any MonotonicClock
  private let pause: @Sendable (Duration) -> Void
  /// The moment of the first read, and the bytes that were read since; nil before it.
  private let state = Mutex<(begun: MonotonicInstant, read: Int64)?>(nil)

  /// Nil reads as fast as it goes. `pause` blocks the thread for that long.
  init(
    _ rate: ByteCount? = nil, clock: any MonotonicClock = SystemMonotonicClock(),
    pause: @escaping @Sendable (Duration) -> Void = { usleep(UInt32(clamping: $0.nanoseconds / 1000)) }
  ) {
    bytesPerSecond = rate.map { max(1, $0.rawValue) }
    self.clock = clock
    self.pause = pause
  }

  /// Waits until so many more bytes were due. Blocks the calling thread, so it is for threads of our own.
  func didRead(_ count: ByteCount) {
    guard let bytesPerSecond else { return }
    let now = clock.now()
    let ahead = state.locked { state -> Duration in
      var known = state ?? (now, 0)
      known.read += count.rawValue
      state = known
      return .milliseconds(known.read * 1000 / bytesPerSecond) - (now - known.begun)
    }
    if ahead > .zero { pause(ahead) }
  }
}
