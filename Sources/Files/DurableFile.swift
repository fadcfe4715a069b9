public import CoreTypes
public import SystemCalls

/// The one way in which this project makes a file that it will later trust: written under another name in the
/// same directory, checked by the caller, synced, renamed, and the directory synced.
///
/// Until ``publish(ifPresent:)`` has renamed it no other process sees anything of it; a value that is dropped
/// before leaves nothing behind. A process that is killed leaves the temporary file, which
/// ``removeLeftovers(in:)`` removes at the next start. Each step is a ``FileOperations`` call, so that tests
/// can let it fail. Every call blocks.
///
/// ```swift
/// var file = try DurableFile(creating: "/var/lib/pull/manifest.json")
/// try file.append(bytes.span)
/// try file.publish(ifPresent: .refuse)
/// ```
public struct DurableFile: ~Copyable {
  /// Where the file will be seen.
  public let path: String
  /// The number of bytes that were appended so far.
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
    // A deinitializer cannot throw; what stays is found by `removeLeftovers(in:)`.
    try? operations.remove(temporaryPath)
  }

  /// Writes at the end of what was appended so far. After an error the file must not be published.
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

  /// fsync, rename, fsync of the directory. When it throws, `path` is as it was before, with one exception:
  /// if the directory's fsync fails after another file was replaced, the new one stays; it is whole, but
  /// whether it survives a power cut is not known.
  public consuming func publish(ifPresent rule: FileSystem.RenameRule = .replace) throws(SystemError) {
    let replaces = try operations.status(of: path) != nil
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

  /// The same steps for a file that has lived under `temporaryPath`, in the same file system, for longer than
  /// one writing: a download, an upload. `path` must be free: an error whose `isFileInTheWay` is true
  /// otherwise. When it throws, the file has its old name (again).
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

  /// Writes and publishes the whole file in one step.
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

extension DurableFile {
  private static let suffix = ".pullbox-part"

  /// Removes what writers that were killed left in `directory`. Only while no process writes there: at
  /// start-up, under the lock of the state directory.
  public static func removeLeftovers(in directory: String) throws(SystemError) {
    let directory = try Directory(opening: directory)
    for entry in try directory.entries() where entry.kind == .regular && isLeftover(entry.name) {
      try directory.removeFile(entry.name)
    }
  }

  /// In the same directory, hidden, and different at every call.
  static func temporaryPath(for path: String) -> String {
    let salt = String(UInt64.random(in: .min ... .max), radix: 36)
    // A name has 255 bytes; the rest of a long one is not needed to tell files apart.
    let stem = String(decoding: FileSystem.lastPart(of: path).utf8.prefix(200), as: UTF8.self)
    return "\(FileSystem.parent(of: path))/.\(stem).\(salt)\(suffix)"
  }

  private static func isLeftover(_ name: String) -> Bool {
    name.hasPrefix(".") && name.hasSuffix(suffix)
  }
}
