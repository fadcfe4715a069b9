/// How the content of a request is framed (RFC 9112 §6).
public enum RequestContent: Hashable, Sendable {
  case none
  /// Bytes, at least one.
  case length(Int64)
  case chunked
}
