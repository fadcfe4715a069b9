internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

extension FileSystem {
  /// Returns the number of bytes that an unprivileged process may still write where `path` lies (statvfs(3),
  /// `f_bavail`).
  public static func freeSpace(at path: String) throws(SystemError) -> ByteCount {
    try space(at: path).free
  }

  /// The room of the file system where `path` lies (statvfs(3)).
  public static func space(at path: String) throws(SystemError) -> FileSystemSpace {
    var status = statvfs()
    try SystemCall.run("statvfs", subject: path) { unsafe statvfs(path, &status) }
    return FileSystemSpace(
      free: ByteCount(status.f_bavail) * status.f_frsize, size: ByteCount(status.f_blocks) * status.f_frsize)
  }

  /// A name for the time since the machine started, from /proc/sys/kernel/random/boot_id: what was written
  /// but not synced is still there exactly when this has not changed.
  public static func bootIdentifier() throws(SystemError) -> String {
    let bytes = try read("/proc/sys/kernel/random/boot_id", upTo: .kibibytes(1))
    return String(decoding: bytes.filter { $0 != 0x0A }, as: UTF8.self)
  }

  /// Returns the name of this machine (uname(2), `nodename`): at most 64 bytes.
  public static func hostName() throws(SystemError) -> String {
    var names = utsname()
    try SystemCall.run("uname") { unsafe uname(&names) }
    return unsafe withUnsafeBytes(of: &names.nodename) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

/// The room of a file system.
public struct FileSystemSpace: Hashable, Sendable {
  /// The number of bytes that an unprivileged process may still write.
  public let free: ByteCount
  /// The size of the file system, with the part that only root may write.
  public let size: ByteCount
}

/// Which opening of which file system a file was reached through: differs after the medium was taken out and put
/// back, also where the numbers of files are the same.
public struct MountIdentity: Hashable, Sendable {
  /// The file system's number (`st_dev`).
  public let device: UInt64
  /// The kernel's number of the mount (`stx_mnt_id`); 0 where it does not tell.
  public let mount: UInt64
  /// The number of the file that was asked about.
  public let inode: UInt64

  /// Reads the identity of an open file or directory.
  public init(of file: borrowing FileDescriptor) throws(SystemError) {
    let status = try file.status()
    device = status.device
    inode = status.inode
    mount = clinux_mount_identifier(file.number)
  }
}

extension ByteCount {
  /// Blocks times their size; more than an `Int64` holds counts as `Int64.max`.
  fileprivate static func * (blocks: ByteCount, size: UInt) -> ByteCount {
    let (product, overflow) = blocks.rawValue.multipliedReportingOverflow(by: Int64(size))
    return ByteCount(overflow ? Int64.max : product)
  }
}
