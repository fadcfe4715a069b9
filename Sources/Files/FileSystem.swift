internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

/// The file system by path. Every call here blocks: off the cooperative pool, see `BlockingPool`. Where an
/// attacker could have put a symbolic link into the path, use ``Directory``.
public enum FileSystem {
  /// The rule for a rename to a name that a file has already.
  public enum RenameRule: Sendable {
    /// The file that has the name is gone afterwards.
    case replace
    /// Throws an error whose `isFileInTheWay` is true.
    case refuse
    /// The two change names; both must exist.
    case exchange
  }

  /// lstat(2): describes the link itself when the last part is one. Nil when there is nothing.
  public static func status(of path: String) throws(SystemError) -> FileStatus? {
    do {
      return try FileStatus(ofLinkAt: path)
    } catch {
      if error.isFileMissing { return nil }
      throw error
    }
  }

  /// access(2): whether this process may read what `path` leads to, and write it if `isWriting`. Throws what else is wrong
  /// with the path.
  public static func mayUse(_ path: String, isWriting: Bool = false) throws(SystemError) -> Bool {
    do {
      try SystemCall.run("access", subject: path) { unsafe access(path, isWriting ? R_OK | W_OK : R_OK) }
      return true
    } catch {
      if error.number == EACCES || error.number == EPERM || error.number == EROFS { return false }
      throw error
    }
  }

  /// realpath(3): the absolute path without symbolic links, `.` and `..`. Throws where a part does not exist.
  public static func realPath(_ path: String) throws(SystemError) -> String {
    var resolved = [CChar](repeating: 0, count: Int(PATH_MAX))
    try SystemCall.run("realpath", subject: path) { unsafe realpath(path, &resolved) == nil ? -1 : 0 }
    return String(decoding: resolved.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The path itself where it begins with a slash, else below the directory in which this process works now. Links, `.` and `..`
  /// stay, and nothing has to exist.
  public static func absolutePath(_ path: String) throws(SystemError) -> String {
    path.hasPrefix("/") ? path : "\(try realPath("."))/\(path)"
  }

  /// renameat2(2). Atomic within one file system; durable only after ``synchronizeDirectory(_:)`` of both
  /// directories. A file system that cannot refuse (NFS, some of FUSE) is asked first whether the name is free.
  public static func rename(
    _ path: String, to newPath: String, ifPresent rule: RenameRule = .replace
  ) throws(SystemError) {
    try SystemFileOperations().rename(path, to: newPath, ifPresent: rule)
  }

  static func renameWithFlags(
    _ path: String, to newPath: String, ifPresent rule: RenameRule
  ) throws(SystemError) {
    let flags: UInt32 =
      switch rule {
      case .replace: 0
      case .refuse: clinux_rename_noreplace
      case .exchange: clinux_rename_exchange
      }
    try SystemCall.run("renameat2", subject: newPath) {
      unsafe clinux_renameat2(AT_FDCWD, path, AT_FDCWD, newPath, flags)
    }
  }

  /// link(2): a second name for the same file; throws where `newPath` exists.
  public static func link(_ path: String, to newPath: String) throws(SystemError) {
    try SystemCall.run("link", subject: newPath) { unsafe Glibc.link(path, newPath) }
  }

  /// unlink(2). False when there was no such file.
  @discardableResult
  public static func removeFile(_ path: String) throws(SystemError) -> Bool {
    do {
      try SystemCall.run("unlink", subject: path) { unsafe unlink(path) }
      return true
    } catch {
      if error.isFileMissing { return false }
      throw error
    }
  }

  /// The whole file; `EFBIG` when it is longer than `limit`, `ESPIPE` for a FIFO, for which it does not wait.
  public static func read(_ path: String, upTo limit: ByteCount) throws(SystemError) -> [UInt8] {
    let file = try FileDescriptor.open(path, .readOnly, options: .doNotWait)
    var bytes: [UInt8] = []
    let chunk = ByteCount.kibibytes(64)
    // Files under /proc say they are empty, so the end is found by reading.
    while bytes.count <= limit.rawValue {
      let before = bytes.count
      try file.read(upTo: Int(min(chunk, limit + ByteCount(1)).rawValue), at: ByteCount(before), into: &bytes)
      if bytes.count == before { return bytes }
    }
    throw SystemError(number: EFBIG, call: "read", subject: path)
  }
}
