import Glibc

/// realpath(3).
enum ResolvedPath {
  /// Nil where a part of `path` does not exist.
  static func of(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}
