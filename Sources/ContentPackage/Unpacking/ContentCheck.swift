public import CoreTypes
import Crypto
public import Files
import SystemCalls

/// The properties of a placed file when its bytes were last read and right. While they are the same, so are
/// the bytes.
public struct FileStamp: Hashable, Sendable {
  /// The file's number within its file system.
  public var inode: UInt64
  /// When the file or what is known of it was last changed, in nanoseconds since the epoch.
  public var changed: Int64

  /// A stamp from its parts.
  public init(inode: UInt64, changed: Int64) {
    self.inode = inode
    self.changed = changed
  }

  /// Nil for a file that was changed so shortly before `now` that a later change could bear the same time: less than `margin`,
  /// or two seconds where the file system seems to keep whole ones.
  init?(_ status: borrowing FileStatus, now: Timestamp, margin: Duration = .milliseconds(100)) {
    // vfat keeps even ones.
    let isCoarse = status.changed % 1_000_000_000 == 0
    let oldest = now - (isCoarse ? .seconds(2) : margin)
    guard status.changed < oldest.millisecondsSinceEpoch &* 1_000_000 else { return nil }
    self.init(inode: status.inode, changed: status.changed)
  }
}

/// The stamps of placed content, one for each file of its manifest and in that order; nil where a file has to be read.
public struct FileStamps: Hashable, Sendable {
  static let stampLength = 16
  /// Linux dates changes by a clock that ticks every 10 ms, or more often: after so long it has ticked.
  public static let tick: Duration = .milliseconds(20)

  /// One for each file.
  public internal(set) var stamps: [FileStamp?]

  /// Those of `files` files of which nothing is known.
  public init(unknown files: Int) {
    stamps = Array(repeating: nil, count: files)
  }

  /// Reads what ``encoded`` wrote; nil where it is not of so many files.
  public init?(encoded bytes: [UInt8], files: Int) {
    guard bytes.count == files * Self.stampLength else { return nil }
    stamps = (0..<files).map { index in
      let start = index * Self.stampLength
      let inode = Self.word(bytes[start..<start + 8])
      let changed = Int64(bitPattern: Self.word(bytes[start + 8..<start + 16]))
      return inode == 0 && changed == 0 ? nil : FileStamp(inode: inode, changed: changed)
    }
  }

  /// Whether no file has to be read.
  public var isComplete: Bool { !stamps.contains(nil) }

  /// These, and those of `other` where a file has none here. Both are of the same files.
  public func filled(from other: FileStamps) -> FileStamps {
    var filled = self
    filled.stamps = zip(stamps, other.stamps).map { $0 ?? $1 }
    return filled
  }

  /// Those of the files with these numbers, in that order.
  public func selecting(_ files: [Int]) -> FileStamps {
    var selected = FileStamps(unknown: files.count)
    selected.stamps = files.map { stamps[$0] }
    return selected
  }

  /// Inode and time of change of each file, 8 bytes each, little-endian; zeros where nothing is known.
  public var encoded: [UInt8] {
    stamps.flatMap { stamp in
      [stamp?.inode ?? 0, UInt64(bitPattern: stamp?.changed ?? 0)].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
      }
    }
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Compares placed content with its manifest: every file's length and SHA-256. A file whose stamp is that of an earlier check
/// is not read again. Files that the manifest does not name are not looked at. Blocks.
public struct ContentCheck: Sendable {
  /// A file that is not the manifest's.
  public struct Fault: Hashable, Sendable {
    /// The kind of a fault.
    public enum Kind: Sendable {
      /// There is no file of that name.
      case missing
      /// It has another length or another SHA-256, or cannot be read.
      case damaged
    }

    /// Where it lies, below the content's directory; empty where it is about the whole.
    public var path: String
    /// The kind of this fault.
    public var kind: Kind

    /// A fault from its parts.
    public init(path: String, _ kind: Kind) {
      self.path = path
      self.kind = kind
    }
  }

  /// The result of a check.
  public struct Finding: Sendable {
    /// The files that are not the manifest's, in its order; empty when the content is whole.
    public internal(set) var faults: [Fault] = []
    /// For the next check; of the files that are right.
    public internal(set) var stamps: FileStamps
    /// The same, and of files that were changed but ``FileStamps/tick`` before: for the process that has made the change itself,
    /// by the clock of this machine.
    public internal(set) var freshStamps: FileStamps
    /// The space that the files take on the device.
    public internal(set) var sizeOnDisk = ByteCount.zero
    /// Bytes that had to be read.
    public internal(set) var bytesRead = ByteCount.zero

    init(stamps: FileStamps) {
      self.stamps = stamps
      freshStamps = stamps
    }

    /// Creates the result for content that cannot be looked at, because something of it is missing.
    public init(_ fault: Fault) {
      faults = [fault]
      stamps = FileStamps(unknown: 0)
      freshStamps = stamps
    }

    /// Whether every file is the manifest's.
    public var isWhole: Bool { faults.isEmpty }

    fileprivate mutating func note(_ status: FileStatus, of index: Int, now: Timestamp) {
      stamps.stamps[index] = FileStamp(status, now: now)
      freshStamps.stamps[index] = FileStamp(status, now: now, margin: FileStamps.tick)
    }
  }

  /// How much of the content has to be read.
  public enum Depth: Sendable {
    /// Every byte.
    case everything
    /// The bytes of files that are not as they were at an earlier check.
    case changes(since: FileStamps)
    /// None: a file of the right length counts as right.
    case lengths
    /// For content that this process has just written and synced: every byte of the files that are shared, which are those
    /// with these numbers in the manifest and those that have another name now; by such a name they may have been changed
    /// since they were compared, also where it is gone by now. None of the others.
    case written(shared: Set<Int>)
  }

  private let manifest: Manifest
  private let path: String
  private let operations: any FileOperations
  private let isStopped: @Sendable () -> Bool

  /// Creates a check of the content that lies at `path`. It ends with `CancellationError` soon after
  /// `isStopped` says so.
  public init(
    _ manifest: Manifest, at path: String, operations: any FileOperations = SystemFileOperations(),
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) {
    self.manifest = manifest
    self.operations = operations
    self.path = path
    self.isStopped = isStopped
  }

  /// Throws `ENOENT` when there is nothing at the path, another `SystemError` where it cannot be looked at. A file that the device
  /// does not give back, or that this user may not read, is damaged.
  public func run(_ depth: Depth, now: Timestamp) throws -> Finding {
    let directory = try Directory(opening: path, operations: operations)
    var finding = Finding(stamps: FileStamps(unknown: manifest.files.count))
    var reader = DirectReader()
    for (index, file) in manifest.files.enumerated() {
      let fault: Fault.Kind?
      do {
        fault = try check(
          file, index: index, depth, now: now, in: directory, reader: &reader, &finding)
      } catch let error as SystemError where error.isUnreadable {
        fault = .damaged
        finding.freshStamps.stamps[index] = nil
      }
      guard let kind = fault else { continue }
      finding.stamps.stamps[index] = nil
      finding.faults.append(Fault(path: file.path.text, kind))
    }
    return finding
  }

  private func check(
    _ file: ManifestFile, index: Int, _ depth: Depth, now: Timestamp, in directory: borrowing Directory,
    reader: inout DirectReader, _ finding: inout Finding
  ) throws -> Fault.Kind? {
    // Most files need not be opened.
    guard let seen = try directory.statusOfFile(at: file.path) else { return .missing }
    guard seen.length == file.length else { return .damaged }
    finding.sizeOnDisk += seen.allocated
    guard isToBeRead(index, status: seen, depth: depth) else {
      finding.note(seen, of: index, now: now)
      // It was old enough then, whatever the clock says now.
      if case .changes(let earlier) = depth { finding.stamps.stamps[index] = earlier.stamps[index] }
      return nil
    }
    let descriptor = try directory.openFileKeepingAccessTime(at: file.path)
    // Of what is read, which another program may have put there since.
    finding.note(try operations.status(of: descriptor), of: index, now: now)
    finding.bytesRead += file.length
    try operations.willMake(.read, of: file.path.text)
    return try digest(of: descriptor, length: file.length, by: &reader) == file.digest ? nil : .damaged
  }

  private func isToBeRead(_ index: Int, status: FileStatus, depth: Depth) -> Bool {
    switch depth {
    case .everything: true
    case .changes(let earlier):
      earlier.stamps[index] != FileStamp(inode: status.inode, changed: status.changed)
    case .lengths: false
    case .written(let shared): status.linkCount > 1 || shared.contains(index)
    }
  }

  private func digest(
    of file: borrowing FileDescriptor, length: ByteCount, by reader: inout DirectReader
  ) throws -> SHA256Digest? {
    var hasher = SHA256Hasher()
    let isWhole = try reader.forEachChunk(of: file, length: length) { bytes in
      if isStopped() { throw CancellationError() }
      hasher.update(bytes)
    }
    return isWhole ? hasher.finalize() : nil
  }
}

extension Directory {
  /// Opens the file at `path` for reading, without that counting as a use of it where this process may say so.
  fileprivate func openFileKeepingAccessTime(at path: PackagePath) throws(SystemError) -> FileDescriptor {
    try withParent(of: path.segments[...], creating: false) { directory, name throws(SystemError) in
      do throws(SystemError) {
        return try directory.open(name, .readOnly, options: .keepAccessTime)
      } catch {
        guard error.isNotPermitted else { throw error }
        return try directory.open(name, .readOnly)
      }
    }
  }
}
