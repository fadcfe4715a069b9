/// `POST /v1/notifications/apple`: what a store tells by itself.
public struct StoreNotification: Codable, Sendable {
  /// A compact JWS; with the document around it at most 256 KiB.
  public var signedPayload: String

  /// Creates the document from its member.
  public init(signedPayload: String) {
    self.signedPayload = signedPayload
  }
}

/// The answer to a ``StoreNotification`` that was written down, now or earlier.
public struct NotificationReceipt: Codable, Sendable {
  /// Whether it came for the first time.
  public var isNew: Bool

  /// Creates the document from its member.
  public init(isNew: Bool) {
    self.isNew = isNew
  }
}
