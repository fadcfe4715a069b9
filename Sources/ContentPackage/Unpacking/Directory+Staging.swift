import CLinux
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
      return try open(name, .readWrite)
    }
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

  /// With permissions 0644 whatever the umask is.
  private func create(named name: String) throws(SystemError) -> FileDescriptor {
    let file = try open(name, .readWrite, options: [.create, .exclusive])
    try SystemCall.run("fchmod", subject: name) { fchmod(file.number, 0o644) }
    return file
  }

  /// Gives this directory permissions 0755 whatever the umask was.
  func openUp() throws(SystemError) {
    try SystemCall.run("fchmod") { fchmod(descriptor.number, 0o755) }
  }
}
