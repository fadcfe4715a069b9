/// How a file's bytes lie in a package.
public enum StorageMethod: String, Hashable, Sendable, CaseIterable {
  /// As they are.
  case stored
  /// As one raw deflate stream (RFC 1951).
  case deflated
}
