internal import Glibc

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
