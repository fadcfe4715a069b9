internal import CLinux
internal import Glibc
public import SystemCalls

/// An open directory. Names are looked up in it and nowhere else: a path with a `/` is refused, a symbolic
/// link is never followed, so nothing that lies in the directory can lead out of it.
public struct Directory: ~Copyable, Sendable {
  /// Open for reading; valid while this value lives.
  public let descriptor: FileDescriptor
  /// The operations that every call here, and in the directories that are opened here, goes through.
  public let operations: any FileOperations

  /// `path` is trusted: links in it are followed.
  public init(
    opening path: String, operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    try operations.willMake(.open, of: path)
    descriptor = try FileDescriptor.open(path, .readOnly, options: .directory)
    self.operations = operations
  }

  private init(_ descriptor: consuming FileDescriptor, _ operations: any FileOperations) {
    self.descriptor = descriptor
    self.operations = operations
  }

  /// Opens the directory called `name`. Throws `ENOTDIR` or `ELOOP` when that is a link.
  public func subdirectory(_ name: String) throws(SystemError) -> Directory {
    try check(name)
    try operations.willMake(.open, of: name)
    return Directory(
      try FileDescriptor.open(
        name, .readOnly, options: [.directory, .doNotFollow], relativeTo: descriptor), operations)
  }

  /// Opens the directory called `name`, and makes it before if it is missing. The name is durable only after
  /// ``synchronize()``.
  public func subdirectory(
    creating name: String, permissions: UInt32 = 0o755
  ) throws(SystemError) -> Directory {
    try check(name)
    do {
      try operations.willMake(.makeDirectory, of: name)
      try SystemCall.run("mkdirat", subject: name) { unsafe mkdirat(descriptor.number, name, permissions) }
    } catch {
      if error.number != EEXIST { throw refusal(of: name, error) }
    }
    return try subdirectory(name)
  }

  /// Opens the file called `name`; with `.create`, and `.exclusive` unless one may be there already. Throws
  /// `ELOOP` when that is a link, and an error whose `isNameRefused` is true when the file system takes no such name.
  public func open(
    _ name: String, _ access: FileDescriptor.Access, options: FileDescriptor.Options = [],
    permissions: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try check(name)
    try operations.willMake(options.contains(.create) ? .create : .open, of: name)
    do {
      return try FileDescriptor.open(
        name, access, options: options.union(.doNotFollow), permissions: permissions,
        relativeTo: descriptor)
    } catch {
      throw options.contains(.create) ? refusal(of: name, error) : error
    }
  }

  /// `ENOENT` for a new name in a directory that is there is how exfat-fuse answers one that it does not take; the kernel's
  /// file systems say `EINVAL`.
  private func refusal(of name: String, _ error: SystemError) -> SystemError {
    guard error.isFileMissing, let links = try? descriptor.status().linkCount, links > 0 else { return error }
    return SystemError(number: EINVAL, call: error.call, subject: name)
  }

  /// statx(2), without opening anything: describes the link itself when `name` is one. Throws `ENOENT` when there is
  /// nothing. A file system of another machine is asked anew, as at an open.
  public func status(of name: String) throws(SystemError) -> FileStatus {
    try check(name)
    try operations.willMake(.status, of: name)
    return try FileStatus(of: name, in: descriptor)
  }

  /// linkat(2): gives the file `name` of `directory` a second name here. Throws `EEXIST` when `newName` is
  /// used.
  public func link(
    _ newName: String, to name: String, of directory: borrowing Directory
  ) throws(SystemError) {
    try check(name)
    try check(newName)
    try operations.willMake(.link, of: newName)
    try SystemCall.run("linkat", subject: newName) {
      unsafe linkat(directory.descriptor.number, name, descriptor.number, newName, 0)
    }
  }

  /// ioctl_ficlone(2): makes the file `newName` with the bytes of `source`; they are shared on the device until
  /// one of the files is written to; `permissions` are the new file's, whatever the umask is. Throws an error whose `isUnsupported` is true where the file system cannot,
  /// and then there is no new file.
  public func clone(
    _ newName: String, of source: borrowing FileDescriptor, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let file = try open(newName, .readWrite, options: [.create, .exclusive], permissions: permissions)
    do {
      try operations.willMake(.clone, of: newName)
      try SystemCall.run("ioctl_ficlone", subject: newName) { clinux_clone(file.number, source.number) }
      try operations.setPermissions(permissions, of: file)
    } catch {
      // The first error is the one that explains.
      try? removeFile(newName)
      throw error
    }
  }

  /// unlinkat(2). Throws `ENOENT` when there is no such file, `EISDIR` for a directory; a link itself is
  /// removed.
  public func removeFile(_ name: String) throws(SystemError) {
    try check(name)
    try operations.willMake(.remove, of: name)
    try SystemCall.run("unlinkat", subject: name) { unsafe unlinkat(descriptor.number, name, 0) }
  }

  /// fsync(2): the names in this directory are durable afterwards.
  public func synchronize() throws(SystemError) {
    try operations.synchronizeDirectory(descriptor)
  }

  func check(_ name: String) throws(SystemError) {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(0x2F), !name.utf8.contains(0) else {
      throw SystemError(number: EINVAL, call: "openat", subject: name)
    }
  }
}

/// A name in a directory.
public struct DirectoryEntry: Hashable, Sendable {
  /// One path component, without a slash.
  public let name: String
  /// The kind of what has the name; a link is not followed.
  public let kind: FileStatus.Kind

  /// An entry from its parts.
  public init(name: String, kind: FileStatus.Kind) {
    self.name = name
    self.kind = kind
  }
}

extension Directory {
  /// The entries other than `.` and `..`, in no order.
  public func entries() throws(SystemError) -> [DirectoryEntry] {
    try operations.willMake(.list, of: "")
    // A stream owns its descriptor and moves its position, so it gets one of its own.
    let number = try FileDescriptor.open(".", .readOnly, options: .directory, relativeTo: descriptor)
      .release()
    guard let stream = unsafe fdopendir(number) else {
      let error = SystemError(number: errno, call: "fdopendir")
      close(number)
      throw error
    }
    defer { unsafe closedir(stream) }
    var entries: [DirectoryEntry] = []
    while true {
      // The end and a failure both answer nil; only errno tells them apart.
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno == 0 { return entries }
        throw SystemError(number: errno, call: "readdir")
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      entries.append(DirectoryEntry(name: name, kind: try kind(of: name, type: unsafe entry.pointee.d_type)))
    }
  }

  /// Removes `name` and everything in it; links are removed, never followed.
  public func removeRecursively(_ name: String) throws(SystemError) {
    try check(name)
    do {
      let directory = try subdirectory(name)
      for entry in try directory.entries() {
        if entry.kind == .directory {
          try directory.removeRecursively(entry.name)
        } else {
          try directory.removeFile(entry.name)
        }
      }
    }
    try operations.willMake(.removeDirectory, of: name)
    try SystemCall.run("unlinkat", subject: name) { unsafe unlinkat(descriptor.number, name, AT_REMOVEDIR) }
  }

  private func kind(of name: String, type: UInt8) throws(SystemError) -> FileStatus.Kind {
    switch Int32(type) {
    case 4: return .directory
    case 8: return .regular
    case 10: return .symbolicLink
    case 0:
      // DT_UNKNOWN: this file system does not tell.
      return try FileStatus(of: name, in: descriptor).kind
    default: return .other
    }
  }
}
