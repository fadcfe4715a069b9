import CLinux
import CoreTypes
package import Files
import Glibc
package import SystemCalls

extension Directory {
  /// Opens the file at `path` below this directory. No link is followed at any level, and a pipe that stands there is not waited for: ask
  /// for the kind of what was opened.
  package func openFile(at path: PackagePath, _ access: FileDescriptor.Access = .readOnly) throws(SystemError)
    -> FileDescriptor
  {
    try withParent(of: path.segments[...], creating: false) { directory, name throws(SystemError) in
      try directory.open(name, access, options: .doNotWait)
    }
  }

  /// Calls `body` with the directory that holds the last of `segments`, and its name there. Directories on the way are
  /// made where `creating` says so.
  func withParent<Value: ~Copyable>(
    of segments: ArraySlice<Substring>, creating: Bool,
    _ body: (borrowing Directory, String) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    precondition(!segments.isEmpty, "a path has at least one segment")
    let name = String(segments[segments.startIndex])
    guard segments.count > 1 else { return try body(self, name) }
    let next = creating ? try subdirectory(creating: name) : try subdirectory(name)
    return try next.withParent(of: segments.dropFirst(), creating: creating, body)
  }

  /// The status of the regular file at `path`, which is not opened; nil when there is nothing, or something else.
  package func statusOfFile(at path: PackagePath) throws(SystemError) -> FileStatus? {
    do {
      return try withParent(of: path.segments[...], creating: false) { directory, name throws(SystemError) in
        try directory.statusOfFile(named: name)
      }
    } catch {
      if error.isFileMissing || error.isSomethingElse { return nil }
      throw error
    }
  }

  /// The status of the regular file called `name`, which is not opened; nil when there is nothing, or something else.
  func statusOfFile(named name: String) throws(SystemError) -> FileStatus? {
    do {
      let status = try status(of: name)
      return status.kind == .regular ? status : nil
    } catch {
      if error.isFileMissing { return nil }
      throw error
    }
  }

  /// The length of the regular file at `path`; nil when there is nothing, or something else.
  func lengthOfFile(at path: PackagePath) throws(SystemError) -> Int64? {
    try statusOfFile(at: path)?.length.rawValue
  }
}

/// The errors of a path that leads elsewhere.
extension SystemError {
  /// A link, a directory or a file stands where something of another kind was expected.
  fileprivate var isSomethingElse: Bool { number == ENOTDIR || number == ELOOP || number == EISDIR }
}
