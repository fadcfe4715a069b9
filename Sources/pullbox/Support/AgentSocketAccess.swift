import CLinux
import Files
import Glibc
import SystemCalls

/// Why no agent answers at a socket, as far as the file system tells.
enum AgentSocketAccess {
  /// This user may not connect there.
  static func isDenied(_ path: String) -> Bool {
    unsafe access(path, W_OK) != 0 && errno == EACCES
  }

  /// Whether nothing is at the path. A directory that may not be searched hides it, and then this is false.
  static func isMissing(_ path: String) -> Bool {
    unsafe access(path, F_OK) != 0 && errno == ENOENT
  }

  /// The group whose members may connect; nil where none may, or the directory hides it.
  static func group(of path: String) -> String? {
    guard let status = try? FileSystem.status(of: path), status.permissions & 0o020 != 0,
      let entry = unsafe getgrgid(status.owner.group)
    else { return nil }
    return unsafe String(cString: entry.pointee.gr_name)
  }
}
