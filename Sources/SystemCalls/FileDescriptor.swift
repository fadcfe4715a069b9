internal import CLinux
internal import Glibc

/// Owns one open file descriptor and closes it when it goes away.
public struct FileDescriptor: ~Copyable, Sendable {
  /// The number the kernel knows it by; valid while this value lives.
  public let number: Int32

  /// `number` must be open and have no other owner.
  public init(takingOwnershipOf number: Int32) {
    precondition(number >= 0)
    self.number = number
  }

  deinit {
    // After close(2) the descriptor is gone whatever it answers; data that matters was synced before.
    _ = Glibc.close(number)
  }

  /// Gives the number away; the caller closes it.
  public consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }

  /// Flags of openat(2) beside the access.
  public struct Options: OptionSet, Sendable {
    /// The bits as openat(2) takes them.
    public let rawValue: Int32
    /// Flags from their bits.
    public init(rawValue: Int32) { self.rawValue = rawValue }
    /// `O_CREAT`: makes the file if it is missing.
    public static let create = Options(rawValue: O_CREAT)
    /// `O_EXCL`: with ``create``, throws `EEXIST` when the file exists.
    public static let exclusive = Options(rawValue: O_EXCL)
    /// `O_TRUNC`: empties the file.
    public static let truncate = Options(rawValue: O_TRUNC)
    /// `O_APPEND`: every write(2) goes to the end.
    public static let append = Options(rawValue: O_APPEND)
    /// Fails where the last part of the path is a symbolic link.
    public static let doNotFollow = Options(rawValue: O_NOFOLLOW)
    /// `O_NONBLOCK`: does not wait for a writer of a FIFO. Regular files are read as without it.
    public static let doNotWait = Options(rawValue: O_NONBLOCK)
    /// `O_NOATIME`: reading does not count as a use of the file. Only its owner may say so; others get `EPERM`.
    public static let keepAccessTime = Options(rawValue: clinux_open_no_access_time)
    /// `O_PATH`: names the file, and neither reads nor writes it; the access does not count.
    public static let pathOnly = Options(rawValue: clinux_open_path_only)
    /// `O_DIRECTORY`: throws `ENOTDIR` for what is no directory.
    public static let directory = Options(rawValue: O_DIRECTORY)
  }

  /// The access that a descriptor gives.
  public enum Access: Sendable {
    case readOnly
    case writeOnly
    case readWrite
  }

  /// openat(2) with `O_CLOEXEC`; without `directory`, relative paths start at the working directory.
  /// `permissions` count, less the umask, for a file that is created.
  public static func open(
    _ path: String, _ access: Access, options: Options = [], permissions: UInt32 = 0o644,
    relativeTo directory: borrowing FileDescriptor
  ) throws(SystemError) -> FileDescriptor {
    try open(path, access, options: options, permissions: permissions, directory: directory.number)
  }

  /// openat(2) with `O_CLOEXEC`, from the working directory.
  public static func open(
    _ path: String, _ access: Access, options: Options = [], permissions: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try open(path, access, options: options, permissions: permissions, directory: AT_FDCWD)
  }

  /// A regular file, opened for reading. Throws an error whose `isNoRegularFile` is true where the last part of the path is
  /// something else; it does not wait for the writer of a FIFO.
  public static func openRegularFile(_ path: String) throws(SystemError) -> FileDescriptor {
    let file = try FileDescriptor.open(path, .readOnly, options: [.doNotFollow, .doNotWait])
    let kind = try file.status().kind
    guard kind == .regular else {
      throw SystemError(number: kind == .directory ? EISDIR : ENXIO, call: "openat", subject: path)
    }
    return file
  }

  private static func open(
    _ path: String, _ access: Access, options: Options, permissions: UInt32, directory: Int32
  ) throws(SystemError) -> FileDescriptor {
    let mode: Int32 =
      switch access {
      case .readOnly: O_RDONLY
      case .writeOnly: O_WRONLY
      case .readWrite: O_RDWR
      }
    let number = try SystemCall.run("openat", subject: path) {
      unsafe clinux_openat(directory, path, mode | options.rawValue | O_CLOEXEC, permissions)
    }
    return FileDescriptor(takingOwnershipOf: number)
  }
}
