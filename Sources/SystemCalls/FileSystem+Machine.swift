internal import CLinux
public import CoreTypes
internal import Glibc

extension FileSystem {
  /// What an unprivileged process may still write where `path` lies (statvfs(3), `f_bavail`).
  public static func freeSpace(at path: String) throws(SystemError) -> ByteCount {
    var status = statvfs()
    try SystemCall.run("statvfs", subject: path) { unsafe statvfs(path, &status) }
    return ByteCount(status.f_bavail) * status.f_frsize
  }

  /// syncfs(2): returns when everything written to the file system of `path` is on the device; the cheap way
  /// to make thousands of files durable.
  public static func synchronizeFileSystem(of path: String) throws(SystemError) {
    let directory = try FileDescriptor.open(path, .readOnly)
    try SystemCall.run("syncfs", subject: path) { clinux_syncfs(directory.number) }
  }

  /// A name for the time since the machine started, from /proc/sys/kernel/random/boot_id: what was written
  /// but not synced is still there exactly when this has not changed.
  public static func bootIdentifier() throws(SystemError) -> String {
    let bytes = try read("/proc/sys/kernel/random/boot_id", upTo: .kibibytes(1))
    return String(decoding: bytes.filter { $0 != 0x0A }, as: UTF8.self)
  }
}

extension ByteCount {
  /// Blocks times their size; more than an `Int64` holds counts as `Int64.max`.
  fileprivate static func * (blocks: ByteCount, size: UInt) -> ByteCount {
    let (product, overflow) = blocks.rawValue.multipliedReportingOverflow(by: Int64(size))
    return ByteCount(overflow ? Int64.max : product)
  }
}
