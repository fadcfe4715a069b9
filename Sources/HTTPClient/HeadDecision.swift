/// What to do with a response whose head is known.
public enum HeadDecision: Hashable, Sendable {
  case accept
  /// The transfer ends as ``HTTPClientError/Code/refused``, with the head and up to 64 KiB of the body (which
  /// often says why) in the error.
  case refuse
}
