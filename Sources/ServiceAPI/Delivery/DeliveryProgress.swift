public import Commerce

/// How the delivery for a grant goes while it is neither placed nor taken back.
public enum DeliveryProgress: String, ListedWords, Sendable {
  /// Granted within ``patience``, and nothing was sent yet.
  case waiting
  /// Bytes were sent within ``patience``.
  case fetching
  /// Neither granted nor sent a byte within ``patience``.
  case stuck
  /// The device has reported that it could not verify the content, since the version was last released.
  case unverified

  /// A delivery without a byte for ten minutes is stuck.
  public static let patience: Duration = .seconds(600)
}
