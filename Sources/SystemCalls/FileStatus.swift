internal import CLinux
public import CoreTypes
internal import Glibc

/// The members of fstat(2)'s answer that this project uses.
public struct FileStatus: Sendable {
  /// The kinds of file that this project tells apart.
  public enum Kind: Sendable {
    case regular
    case directory
    case symbolicLink
    /// A device, a socket, a pipe.
    case other
  }

  /// The kind of the file.
  public let kind: Kind
  /// Bytes of a regular file.
  public let length: ByteCount
  /// The low twelve bits: permissions, set-id and sticky bits.
  public let permissions: UInt32
  /// The user and the group the file belongs to.
  public let owner: FileOwner
  /// The file system's number; with ``inode`` it identifies the file.
  public let device: UInt64
  /// The file's number within its file system.
  public let inode: UInt64
  /// Names that the file has.
  public let linkCount: UInt64
  /// When its content was last changed, by the wall clock of that moment.
  public let modified: Timestamp
  /// When its content, its names or its permissions were last changed, in nanoseconds since the epoch. No program can set
  /// it: where it is the same, so is the content.
  public let changed: Int64
  /// When it was last read, as far as the file system keeps that (`noatime`, `relatime`).
  public let accessed: Timestamp
  /// The space that the file takes on the device.
  public let allocated: ByteCount

  /// lstat(2): describes the link itself when the last part is one. Throws `ENOENT` when there is nothing.
  package init(ofLinkAt path: String) throws(SystemError) {
    var status = stat()
    try SystemCall.run("lstat", subject: path) { unsafe lstat(path, &status) }
    self.init(status)
  }

  /// statx(2) of what `name` is in the directory of that descriptor, see `Directory.status(of:)`. Throws `ENOENT` when there is nothing.
  package init(of name: String, in directory: borrowing FileDescriptor) throws(SystemError) {
    var status = stat()
    try SystemCall.run("statx", subject: name) {
      unsafe clinux_status_at(directory.number, name, &status)
    }
    self.init(status)
  }

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
    length = ByteCount(status.st_size)
    permissions = status.st_mode & 0o7777
    owner = FileOwner(user: status.st_uid, group: status.st_gid)
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    linkCount = UInt64(status.st_nlink)
    // Anyone may give a file any time, also one beyond what milliseconds count to.
    var status = status
    changed = unsafe clinux_change_time(&status)
    accessed = Timestamp(millisecondsSinceEpoch: unsafe clinux_access_time(&status) / 1_000_000)
    allocated = ByteCount(Int64(clamping: status.st_blocks).multipliedReportingOverflow(by: 512).partialValue)
    modified =
      Timestamp(millisecondsSinceEpoch: 0) + .seconds(unsafe clinux_modification_seconds(&status))
      + .nanoseconds(unsafe clinux_modification_nanoseconds(&status))
  }
}

/// The user and the group that a file belongs to, by the kernel's numbers.
public struct FileOwner: Hashable, Sendable {
  /// The user's number.
  public let user: UInt32
  /// The group's number.
  public let group: UInt32

  /// An owner from its numbers.
  public init(user: UInt32, group: UInt32) {
    self.user = user
    self.group = group
  }

  /// The owner of files that this process makes: its effective user and group.
  public static var ofThisProcess: FileOwner { FileOwner(user: geteuid(), group: getegid()) }
}

extension FileDescriptor {
  /// fchown(2). Only root may give a file to another user; others get `EPERM`.
  public func setOwner(_ owner: FileOwner) throws(SystemError) {
    try SystemCall.run("fchown") { fchown(number, owner.user, owner.group) }
  }
}
