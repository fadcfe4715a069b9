public import CoreTypes
internal import Glibc

/// What fstat(2) says of a file, as far as this project asks.
public struct FileStatus: Sendable {
  public enum Kind: Sendable {
    case regular
    case directory
    case symbolicLink
    case other
  }

  public let kind: Kind
  public let length: ByteCount
  /// The low twelve bits: permissions, set-id and sticky bits.
  public let permissions: UInt32
  public let owner: FileOwner
  public let device: UInt64
  public let inode: UInt64
  public let linkCount: UInt64
  /// When its content was last changed, by the wall clock of that moment.
  public let modified: Timestamp

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
    modified = Timestamp(
      millisecondsSinceEpoch: Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000)
  }
}

/// Whom a file belongs to, by the kernel's numbers.
public struct FileOwner: Hashable, Sendable {
  public let user: UInt32
  public let group: UInt32

  public init(user: UInt32, group: UInt32) {
    self.user = user
    self.group = group
  }

  /// Whom the files belong to that this process makes.
  public static var ofThisProcess: FileOwner { FileOwner(user: geteuid(), group: getegid()) }
}

extension FileDescriptor {
  /// fchown(2). Giving a file to another user takes root: `EPERM` for anybody else.
  public func setOwner(_ owner: FileOwner) throws(SystemError) {
    try SystemCall.run("fchown") { fchown(number, owner.user, owner.group) }
  }
}
