internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

/// The kinds of calls by which a process reads and changes files.
public enum FileCall: String, CaseIterable, Sendable {
  /// Opens a file or a directory that exists.
  case open
  /// Creates a file that does not exist yet.
  case create
  case makeDirectory
  case status
  case list
  case read
  case write
  case truncate
  case setPermissions
  /// Asks the kernel to begin writing to the device.
  case startWriteback
  /// Waits for a part of a file to be on the device.
  case awaitWriteback
  case synchronize
  case synchronizeDirectory
  case synchronizeFileSystem
  case link
  /// Clones a file's bytes, which both files share until one of them is written to.
  case clone
  case rename
  case remove
  case removeDirectory
  /// Asks how much may still be written.
  case freeSpace
  /// Takes room for a file before it is written.
  case allocate
  /// Gives the room of a part of a file back.
  case punchHole
}

/// The file calls of what must outlive a process, so that a test can let any one of them fail, or be the last.
/// All of them block. Every call asks ``willMake(_:of:)`` first; the calls themselves are extensions, and
/// ``Directory`` makes its own the same way.
public protocol FileOperations: Sendable {
  /// Before each call; `subject` is its path or name, empty for a call on an open file. An error thrown here
  /// stands for the call's.
  func willMake(_ call: FileCall, of subject: String) throws(SystemError)
  /// Writes all of `bytes` at `offset`.
  func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError)
}

/// The calls as the kernel answers them.
public struct SystemFileOperations: FileOperations {
  /// Has no state: all values are alike.
  public init() {}

  /// Allows every call.
  public func willMake(_ call: FileCall, of subject: String) {}

  /// pwrite(2) until all is written.
  public func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError) {
    try file.write(bytes, at: offset)
  }
}

/// Calls on an open file.
extension FileOperations {
  /// Appends up to `count` bytes from `offset` to `buffer`; fewer at the end of the file.
  public func read(
    upTo count: Int, of file: borrowing FileDescriptor, at offset: ByteCount, into buffer: inout [UInt8]
  ) throws(SystemError) {
    try willMake(.read, of: "")
    try file.read(upTo: count, at: offset, into: &buffer)
  }

  /// The same; false where the device does not give back what was written there, and then what was appended means nothing.
  public func readIfReadable(
    upTo count: Int, of file: borrowing FileDescriptor, at offset: ByteCount, into buffer: inout [UInt8]
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try read(upTo: count, of: file, at: offset, into: &buffer)
      return true
    } catch {
      guard error.isUnreadable else { throw error }
      return false
    }
  }

  /// fstat(2).
  public func status(of file: borrowing FileDescriptor) throws(SystemError) -> FileStatus {
    try willMake(.status, of: "")
    return try file.status()
  }

  /// ftruncate(2).
  public func truncate(_ file: borrowing FileDescriptor, to length: ByteCount) throws(SystemError) {
    try willMake(.truncate, of: "")
    try file.truncate(to: length)
  }

  /// fchmod(2). A file system without permissions of its own refuses that, which is no error: there the
  /// mount's count.
  public func setPermissions(
    _ permissions: UInt32, of file: borrowing FileDescriptor
  ) throws(SystemError) {
    do {
      try willMake(.setPermissions, of: "")
      try SystemCall.run("fchmod") { fchmod(file.number, permissions) }
    } catch {
      guard error.isUnsupported else { throw error }
    }
  }

  /// See ``FileDescriptor/allocateIfSupported(_:)``.
  public func allocateIfSupported(
    _ length: ByteCount, for file: borrowing FileDescriptor
  ) throws(SystemError) -> Bool {
    try willMake(.allocate, of: "")
    return try file.allocateIfSupported(length)
  }

  /// See ``FileDescriptor/punchHole(_:)``.
  public func punchHole(_ range: Range<Int64>, in file: borrowing FileDescriptor) throws(SystemError) {
    try willMake(.punchHole, of: "")
    try file.punchHole(range)
  }

  /// Returns when the file's bytes are on the device.
  public func synchronize(_ file: borrowing FileDescriptor) throws(SystemError) {
    try willMake(.synchronize, of: "")
    try file.synchronize()
  }

  /// fsync(2) of a directory: the names in it are durable afterwards.
  public func synchronizeDirectory(_ directory: borrowing FileDescriptor) throws(SystemError) {
    try willMake(.synchronizeDirectory, of: "")
    try directory.synchronize()
  }

  /// syncfs(2) of the file system that the descriptor is open on; since Linux 5.8 it also answers for bytes
  /// that could not be written at any time since the descriptor was opened.
  public func synchronizeFileSystem(of directory: borrowing FileDescriptor) throws(SystemError) {
    try willMake(.synchronizeFileSystem, of: "")
    try SystemCall.run("syncfs") { clinux_syncfs(directory.number) }
  }

  /// See ``FileDescriptor/startWriteback(of:)``.
  public func startWriteback(
    of range: Range<Int64>, in file: borrowing FileDescriptor
  ) throws(SystemError) {
    try willMake(.startWriteback, of: "")
    try file.startWriteback(of: range)
  }

  /// sync_file_range(2): returns when these bytes are on the device. No durability by itself; what an
  /// fsync(2) after it still has to do is short.
  public func awaitWriteback(
    of range: Range<Int64>, in file: borrowing FileDescriptor
  ) throws(SystemError) {
    try willMake(.awaitWriteback, of: "")
    try SystemCall.run("sync_file_range") {
      clinux_sync_file_range(
        file.number, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound),
        clinux_sync_file_range_wait)
    }
  }
}

/// Calls by path; those of ``FileSystem`` say what they do.
extension FileOperations {
  /// A new file, open for reading and writing; throws where one has the name.
  public func create(_ path: String, permissions: UInt32) throws(SystemError) -> FileDescriptor {
    try willMake(.create, of: path)
    return try FileDescriptor.open(
      path, .readWrite, options: [.create, .exclusive], permissions: permissions)
  }

  /// Opens the file; with `.create`, and `.exclusive` unless one may be there already.
  public func open(
    _ path: String, _ access: FileDescriptor.Access, options: FileDescriptor.Options = [],
    permissions: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try willMake(options.contains(.create) ? .create : .open, of: path)
    return try FileDescriptor.open(path, access, options: options, permissions: permissions)
  }

  /// A second name for the same file; throws where `newPath` exists.
  public func link(_ path: String, to newPath: String) throws(SystemError) {
    try willMake(.link, of: newPath)
    try FileSystem.link(path, to: newPath)
  }

  /// Returns the number of bytes that this process may still write to the file system at `path`.
  public func freeSpace(at path: String) throws(SystemError) -> ByteCount {
    try willMake(.freeSpace, of: path)
    return try FileSystem.freeSpace(at: path)
  }

  /// Renames within one file system, atomically.
  public func rename(
    _ path: String, to newPath: String, ifPresent rule: FileSystem.RenameRule = .replace
  ) throws(SystemError) {
    do {
      try willMake(.rename, of: newPath)
      try FileSystem.renameWithFlags(path, to: newPath, ifPresent: rule)
    } catch {
      guard rule == .refuse, error.isFlagUnknown else { throw error }
      // Only a process that writes here beside this one could take the name between the question and the call.
      if try status(of: newPath) != nil {
        throw SystemError(number: EEXIST, call: "renameat2", subject: newPath)
      }
      try willMake(.rename, of: newPath)
      try FileSystem.renameWithFlags(path, to: newPath, ifPresent: .replace)
    }
  }

  /// Returns when the names in the directory are on the device.
  public func synchronizeDirectory(_ path: String) throws(SystemError) {
    try willMake(.synchronizeDirectory, of: path)
    try FileSystem.synchronizeDirectory(path)
  }

  /// Removes the file; a missing one is no error.
  public func remove(_ path: String) throws(SystemError) {
    try willMake(.remove, of: path)
    try FileSystem.removeFile(path)
  }

  /// lstat(2); nil when there is nothing.
  public func status(of path: String) throws(SystemError) -> FileStatus? {
    try willMake(.status, of: path)
    return try FileSystem.status(of: path)
  }

  /// The whole file; `EFBIG` when it is longer than `limit`.
  public func read(_ path: String, upTo limit: ByteCount) throws(SystemError) -> [UInt8] {
    try willMake(.read, of: path)
    return try FileSystem.read(path, upTo: limit)
  }

  /// The same; nil where the device does not give back what was written there.
  public func readIfReadable(_ path: String, upTo limit: ByteCount) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      return try read(path, upTo: limit)
    } catch {
      guard error.isUnreadable else { throw error }
      return nil
    }
  }

  /// False when a directory is there already.
  @discardableResult
  public func createDirectory(_ path: String, permissions: UInt32 = 0o755) throws(SystemError) -> Bool {
    try willMake(.makeDirectory, of: path)
    return try FileSystem.createDirectory(path, permissions: permissions)
  }

  /// Creates the directory and the missing ones above it, durably.
  public func createDirectories(_ path: String, permissions: UInt32 = 0o755) throws(SystemError) {
    if try FileSystem.isDirectory(path) { return }
    let parent = FileSystem.parent(of: path)
    if parent != path { try createDirectories(parent, permissions: permissions) }
    if try createDirectory(path, permissions: permissions) { try synchronizeDirectory(parent) }
  }

  /// Creates the directory and the missing ones above it, durably, below `root`, in which the file at `mark` has to lie. What is
  /// looked at and what is made lie on one file system, whatever is unmounted meanwhile: nothing is made in the empty
  /// directory that a file system leaves. Throws an error whose `isFileMissing` is true where the mark is not there.
  ///
  /// - Parameters:
  ///   - path: names below `root`, with `/` between them.
  ///   - mark: a path of the same kind.
  public func createDirectories(
    _ path: String, below root: String, marked mark: String, permissions: UInt32 = 0o755
  ) throws(SystemError) {
    let top = try Directory(opening: root, operations: self)
    try Self.requireFile(mark.split(separator: "/").map(String.init), in: top)
    try Self.createDirectories(path.split(separator: "/").map(String.init)[...], in: top, permissions)
  }

  private static func requireFile(_ names: [String], in directory: borrowing Directory) throws(SystemError) {
    guard let first = names.first else { return }
    if names.count == 1 {
      _ = try directory.status(of: first)
    } else {
      try requireFile(Array(names.dropFirst()), in: try directory.subdirectory(first))
    }
  }

  private static func createDirectories(
    _ names: ArraySlice<String>, in directory: borrowing Directory, _ permissions: UInt32
  ) throws(SystemError) {
    guard let first = names.first else { return }
    try createDirectories(
      names.dropFirst(), in: try open(first, creatingIn: directory, permissions), permissions)
  }

  private static func open(
    _ name: String, creatingIn directory: borrowing Directory, _ permissions: UInt32
  ) throws(SystemError) -> Directory {
    do throws(SystemError) {
      return try directory.subdirectory(name)
    } catch {
      guard error.isFileMissing else { throw error }
    }
    let created = try directory.subdirectory(creating: name, permissions: permissions)
    try directory.synchronize()
    return created
  }

  /// The entries other than `.` and `..`, in no order.
  public func list(_ path: String) throws(SystemError) -> [DirectoryEntry] {
    try Directory(opening: path, operations: self).entries()
  }

  /// Returns the space that the files below the directory take on the device; a file with two names counts
  /// twice. A file that is removed meanwhile counts or not. Zero where there is no such directory.
  public func allocatedSize(of path: String) throws(SystemError) -> ByteCount {
    var sum = ByteCount.zero
    let entries: [DirectoryEntry]
    do throws(SystemError) { entries = try list(path) } catch {
      guard error.isFileMissing else { throw error }
      return sum
    }
    for entry in entries {
      let inner = "\(path)/\(entry.name)"
      do throws(SystemError) {
        if entry.kind == .directory {
          sum += try allocatedSize(of: inner)
        } else {
          sum += try status(of: inner)?.allocated ?? .zero
        }
      } catch {
        guard error.isFileMissing else { throw error }
      }
    }
    return sum
  }

  /// Removes the file or the directory with everything in it; false when there was nothing.
  @discardableResult
  public func removeRecursively(_ path: String) throws(SystemError) -> Bool {
    guard let status = try status(of: path) else { return false }
    guard status.kind == .directory else {
      try remove(path)
      return true
    }
    try Directory(opening: FileSystem.parent(of: path), operations: self)
      .removeRecursively(FileSystem.lastPart(of: path))
    return true
  }
}
