internal import CLinux
public import CoreTypes
internal import Files
internal import Glibc
internal import SystemCalls

/// A file system of a test's own, in memory and soon full. It takes the superuser to make one.
public final class SmallDisk: Sendable {
  /// Whether one can be made: tests that need it are skipped where it cannot.
  public static let isAvailable = geteuid() == 0 && (try? SmallDisk(.kibibytes(64))) != nil

  /// Where it is mounted; it goes with this object.
  public let directory: TemporaryDirectory
  /// The path that is unmounted in the end.
  private let mountPoint: String

  /// At `path`, a directory that exists, or in a place of its own. Throws `SystemError` where the system allows no mount.
  public init(_ size: ByteCount, at path: String? = nil) throws {
    directory = try TemporaryDirectory()
    mountPoint = path ?? directory.path
    let (path, options) = (mountPoint, "size=\(size.rawValue)")
    try SystemCall.run("mount", subject: path) { unsafe mount("tmpfs", path, "tmpfs", 0, options) }
  }

  deinit {
    _ = unsafe umount2(mountPoint, Int32(MNT_DETACH))
  }

  /// Returns the path of a file on it.
  public func path(_ name: String) -> String { "\(mountPoint)/\(name)" }

  /// Takes all the room that is left.
  public func fill() throws {
    let ballast = try FileDescriptor.open(
      path("ballast"), .writeOnly, options: [.create, .append], permissions: 0o600)
    var size = 65_536
    while size > 0 {
      let bytes = [UInt8](repeating: 0, count: size)
      do {
        _ = try ballast.write(bytes.span)
      } catch {
        size /= 2
      }
    }
  }

  /// From now on it takes no write, or takes them again. Throws while a file on it is open for writing.
  public func remount(isReadOnly: Bool) throws {
    // MS_REMOUNT, MS_RDONLY
    let flags: UInt = 32 | (isReadOnly ? 1 : 0)
    try SystemCall.run("mount", subject: mountPoint) { unsafe mount(nil, mountPoint, nil, flags, nil) }
  }

  /// Gives back the room that was taken.
  public func clear() throws {
    _ = try FileSystem.removeFile(path("ballast"))
  }
}
