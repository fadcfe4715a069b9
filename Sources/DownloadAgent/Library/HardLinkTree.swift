import Glibc
import SystemCalls

/// A second tree of directories whose files are those of the first: no byte is copied.
enum HardLinkTree {
  /// Deeper than any package can be: its paths have 1024 bytes.
  private static let maximumDepth = 512

  /// Makes the directory `path`, which must not exist, like `source`. Anything but files and directories is left out.
  static func make(at path: String, from source: String) throws(SystemError) {
    try FileSystem.createDirectory(path)
    try link(try Directory(opening: source), into: try Directory(opening: path), depth: 0)
  }

  private static func link(
    _ source: borrowing Directory, into target: borrowing Directory, depth: Int
  ) throws(SystemError) {
    guard depth < maximumDepth else { throw SystemError(number: ELOOP, call: "linkat") }
    for entry in try source.entries() {
      switch entry.kind {
      case .regular: try target.link(entry.name, to: entry.name, of: source)
      case .directory:
        let inner = try target.subdirectory(creating: entry.name)
        try link(try source.subdirectory(entry.name), into: inner, depth: depth + 1)
      case .symbolicLink, .other: break
      }
    }
    try target.synchronize()
  }
}
