internal import CLinux
internal import Glibc
public import SystemCalls

extension FileSystem {
  /// mkdir(2). False when a directory is there already; throws when something else is.
  @discardableResult
  public static func createDirectory(
    _ path: String, permissions: UInt32 = 0o755
  ) throws(SystemError) -> Bool {
    do {
      try SystemCall.run("mkdir", subject: path) { unsafe mkdir(path, permissions) }
      return true
    } catch {
      guard error.number == EEXIST, try isDirectory(path) else { throw error }
      return false
    }
  }

  /// Creates the directory and the missing ones above it, like `mkdir -p`, and durably: the directory above
  /// each new one is synced. Each new directory has `permissions`, less the umask.
  public static func createDirectories(_ path: String, permissions: UInt32 = 0o755) throws(SystemError) {
    try SystemFileOperations().createDirectories(path, permissions: permissions)
  }

  /// The entries other than `.` and `..`, in no order.
  public static func list(_ path: String) throws(SystemError) -> [DirectoryEntry] {
    try Directory(opening: path).entries()
  }

  /// Removes the file or the directory with everything in it; links are removed, never followed. False when
  /// there was nothing. Not atomic: rename it aside first where another process could see it half gone.
  @discardableResult
  public static func removeRecursively(_ path: String) throws(SystemError) -> Bool {
    try SystemFileOperations().removeRecursively(path)
  }

  /// fsync(2) of a directory: the names in it are durable afterwards.
  public static func synchronizeDirectory(_ path: String) throws(SystemError) {
    try FileDescriptor.open(path, .readOnly, options: .directory).synchronize()
  }

  /// Returns the part of the path before the last `/`: `.` where there is none.
  public static func parent(of path: String) -> String {
    let trimmed = withoutTrailingSlashes(path)
    guard let slash = trimmed.utf8.lastIndex(of: 0x2F) else { return "." }
    return slash == trimmed.startIndex ? "/" : withoutTrailingSlashes(trimmed[..<slash])
  }

  /// Returns the part of the path after the last `/`.
  public static func lastPart(of path: String) -> String {
    let trimmed = withoutTrailingSlashes(path)
    guard let slash = trimmed.utf8.lastIndex(of: 0x2F), trimmed != "/" else { return trimmed }
    return String(trimmed[trimmed.utf8.index(after: slash)...])
  }

  /// Whether the path leads to a directory, through links.
  public static func isDirectory(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    do {
      try SystemCall.run("stat", subject: path) { unsafe stat(path, &status) }
    } catch {
      if error.isFileMissing { return false }
      throw error
    }
    return status.st_mode & S_IFMT == S_IFDIR
  }

  private static func withoutTrailingSlashes(_ path: some StringProtocol) -> String {
    var path = Substring(path).utf8
    while path.count > 1, path.last == 0x2F { path.removeLast() }
    return String(Substring(path))
  }
}
