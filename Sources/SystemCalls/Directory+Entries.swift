internal import Glibc

extension Directory {
  /// The entries other than `.` and `..`, in no order.
  public func entries() throws(SystemError) -> [DirectoryEntry] {
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
    try SystemCall.run("unlinkat", name) { unsafe unlinkat(descriptor.number, name, AT_REMOVEDIR) }
  }

  private func kind(of name: String, type: UInt8) throws(SystemError) -> FileStatus.Kind {
    switch Int32(type) {
    case 4: return .directory
    case 8: return .regular
    case 10: return .symbolicLink
    case 0:
      // DT_UNKNOWN: this file system does not tell.
      var status = stat()
      try SystemCall.run("fstatat", name) {
        unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW)
      }
      return FileStatus(status).kind
    default: return .other
    }
  }
}
