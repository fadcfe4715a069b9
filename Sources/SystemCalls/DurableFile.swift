public import CoreTypes

/// The one way in which a file that anyone will later trust comes to be: written under another name in the same
/// directory, checked by the caller, synced, renamed, and the directory synced. Until ``publish(ifPresent:)`` has
/// returned nobody sees anything of it; a value that is dropped before leaves nothing behind. Every call blocks.
public struct DurableFile: ~Copyable {
  /// Where the file will be seen.
  public let path: String
  /// What was appended so far.
  public private(set) var length = ByteCount.zero

  private let temporaryPath: String
  private let file: FileDescriptor
  private let operations: any FileOperations
  private var isPublished = false

  /// Starts a file that will have `permissions` less the umask. The directory must exist.
  public init(
    creating path: String, permissions: UInt32 = 0o644,
    operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    self.path = path
    self.operations = operations
    temporaryPath = DurableFile.temporaryPath(for: path)
    file = try operations.create(temporaryPath, permissions: permissions)
  }

  deinit {
    guard !isPublished else { return }
    // Nobody is left to tell; what stays is found by `removeLeftovers(in:)`.
    try? operations.remove(temporaryPath)
  }

  public mutating func append(_ bytes: Span<UInt8>) throws(SystemError) {
    try operations.write(bytes, to: file, at: length)
    length += ByteCount(bytes.count)
  }

  /// The file as written so far, for reading back and checking.
  public func withDescriptor<Value, Failure: Error>(
    _ body: (borrowing FileDescriptor) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try body(file)
  }

  /// fsync, rename, fsync of the directory. When it throws, `path` is as it was before, with one exception: if the
  /// directory's fsync fails after another file was replaced, the new one stays; it is whole, but whether it survives
  /// a power cut is not known.
  public consuming func publish(ifPresent rule: FileSystem.RenameRule = .replace) throws(SystemError) {
    let replaces = try FileSystem.status(of: path) != nil
    try operations.synchronize(file)
    try operations.rename(temporaryPath, to: path, ifPresent: rule)
    isPublished = true
    do {
      try operations.synchronizeDirectory(FileSystem.parent(of: path))
    } catch {
      // The first error is the one that explains; removing is only an attempt on a failing device.
      if !replaces { try? operations.remove(path) }
      throw error
    }
  }

  /// The same steps for a file that has lived under `temporaryPath`, in the same file system, for longer than one writing:
  /// a download, an upload. `path` must be free: an error whose `isFileInTheWay` is true otherwise. When it throws, the file
  /// has its old name (again).
  public static func publish(
    _ file: borrowing FileDescriptor, at temporaryPath: String, as path: String,
    operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    try operations.synchronize(file)
    try operations.rename(temporaryPath, to: path, ifPresent: .refuse)
    do {
      try operations.synchronizeDirectory(FileSystem.parent(of: path))
    } catch {
      // The first error is the one that explains; moving back is only an attempt on a failing device.
      try? operations.rename(path, to: temporaryPath, ifPresent: .refuse)
      throw error
    }
  }

  /// The whole file in one step.
  public static func write(
    _ bytes: Span<UInt8>, to path: String, permissions: UInt32 = 0o644,
    ifPresent rule: FileSystem.RenameRule = .replace,
    operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    var file = try DurableFile(creating: path, permissions: permissions, operations: operations)
    try file.append(bytes)
    try file.publish(ifPresent: rule)
  }
}
