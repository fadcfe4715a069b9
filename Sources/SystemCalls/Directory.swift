internal import CLinux
internal import Glibc

/// An open directory. Names are looked up in it and nowhere else: a path with a `/` is refused, a symbolic link is never
/// followed, so nothing that lies in the directory can lead out of it.
public struct Directory: ~Copyable, Sendable {
  public let descriptor: FileDescriptor

  /// `path` is trusted: links in it are followed.
  public init(opening path: String) throws(SystemError) {
    descriptor = try FileDescriptor.open(path, .readOnly, options: .directory)
  }

  private init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// The directory called `name`. `ENOTDIR` or `ELOOP` when that is a link.
  public func subdirectory(_ name: String) throws(SystemError) -> Directory {
    try check(name)
    return Directory(
      try FileDescriptor.open(
        name, .readOnly, options: [.directory, .doNotFollow], relativeTo: descriptor))
  }

  /// The directory called `name`, made if it is not there.
  public func subdirectory(
    creating name: String, permissions: UInt32 = 0o755
  ) throws(SystemError) -> Directory {
    try check(name)
    do {
      try SystemCall.run("mkdirat", name) { unsafe mkdirat(descriptor.number, name, permissions) }
    } catch {
      if error.number != EEXIST { throw error }
    }
    return try subdirectory(name)
  }

  /// The file called `name`; with `.create`, and `.exclusive` unless one may be there already.
  public func open(
    _ name: String, _ access: FileDescriptor.Access, options: FileDescriptor.Options = [],
    permissions: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try check(name)
    return try FileDescriptor.open(
      name, access, options: options.union(.doNotFollow), permissions: permissions,
      relativeTo: descriptor)
  }

  /// A second name, here, for the file `name` of `directory`.
  public func link(
    _ newName: String, to name: String, of directory: borrowing Directory
  ) throws(SystemError) {
    try check(name)
    try check(newName)
    try SystemCall.run("linkat", newName) {
      unsafe linkat(directory.descriptor.number, name, descriptor.number, newName, 0)
    }
  }

  public func removeFile(_ name: String) throws(SystemError) {
    try check(name)
    try SystemCall.run("unlinkat", name) { unsafe unlinkat(descriptor.number, name, 0) }
  }

  /// fsync(2): the names in this directory are durable afterwards.
  public func synchronize() throws(SystemError) {
    try descriptor.synchronize()
  }

  func check(_ name: String) throws(SystemError) {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(0x2F), !name.utf8.contains(0) else {
      throw SystemError(number: EINVAL, call: "openat", subject: name)
    }
  }
}
