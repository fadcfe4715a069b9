import CLinux
import Files
import Glibc
import SystemCalls

extension Directory {
  /// Opens the file at `path` for writing, with the directories above it; new or as an earlier process left it.
  func openForWriting(at path: PackagePath) throws(SystemError) -> FileDescriptor {
    try withParent(of: path.segments[...], creating: true) { directory, name throws(SystemError) in
      try directory.openForWriting(named: name)
    }
  }

  func openForWriting(named name: String) throws(SystemError) -> FileDescriptor {
    do {
      return try create(named: name)
    } catch {
      guard error.isFileInTheWay else { throw error }
    }
    do {
      return try open(name, .readWrite)
    } catch {
      // Its permissions are those of a reader's file already; they do not hold for root.
      guard error.number == EACCES else { throw error }
    }
    try operations.setPermissions(0o644, of: try open(name, .readOnly))
    let file = try open(name, .readWrite)
    try operations.setPermissions(Self.placedPermissions, of: file)
    return file
  }

  /// A new, empty file at `path`; whatever had the name is removed.
  func replaceFile(at path: PackagePath) throws(SystemError) -> FileDescriptor {
    try withParent(of: path.segments[...], creating: true) { directory, name throws(SystemError) in
      do throws(SystemError) {
        return try directory.create(named: name)
      } catch {
        guard error.isFileInTheWay else { throw error }
        try directory.removeFile(name)
        return try directory.create(named: name)
      }
    }
  }

  /// Readers read. Versions may share a file, so that writing to one must be meant.
  static var placedPermissions: UInt32 { 0o444 }

  /// With the permissions it will be placed with, whatever the umask is.
  func create(named name: String) throws(SystemError) -> FileDescriptor {
    let file = try open(name, .readWrite, options: [.create, .exclusive])
    try operations.setPermissions(Self.placedPermissions, of: file)
    return file
  }

  /// Gives this directory permissions 0755 whatever the umask was.
  func openUp() throws(SystemError) {
    try operations.setPermissions(0o755, of: descriptor)
  }
}
