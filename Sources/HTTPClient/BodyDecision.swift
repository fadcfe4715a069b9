/// What became of bytes.
public enum BodyDecision: Hashable, Sendable {
  case consumed
  /// Nothing was consumed: the same bytes come again after ``TransferHandle/resume()``. A call to it that
  /// happens after the receiver has decided, even before it has returned, is never lost.
  case pause
  /// Nothing was consumed and nothing more is wanted: the transfer ends as ``HTTPClientError/Code/stopped``.
  case stop
}
