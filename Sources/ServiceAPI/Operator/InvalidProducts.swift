public import Commerce
public import CoreTypes

/// `GET /v1/operator/products/invalid`: what apps asked for in vain.
public struct InvalidProductsReport: Codable, Sendable {
  /// Why a product was not answered.
  public enum Reason: String, ListedWords, Sendable {
    /// There is no such product, nor one of a similar name.
    case unknown
    /// There is no such product, and ``Item/near`` may have been meant.
    case misspelled
    /// Another application sells it.
    case otherApplication = "other-application"
    /// It was not cleared by a review, or nothing of it is released.
    case notCleared = "not-cleared"
    /// It has prices, and none in the territory that was asked for.
    case notHere = "not-here"
    /// It is for sale from a later date on, or it is released to a part of the devices, and not to the one that asked.
    case notYet = "not-yet"
    /// The operator has taken it off sale, or its last date has passed.
    case withdrawn
  }

  /// One identifier that was asked for in vain, for one reason.
  public struct Item: Codable, Sendable {
    /// The identifier as it was written, up to 255 bytes of it.
    public var id: String
    /// Why it was not answered.
    public var reason: Reason
    /// How often since ``InvalidProductsReport/since``.
    public var count: Int
    /// When it was last asked for.
    public var lastAsked: Timestamp
    /// A product whose identifier differs by one or two characters; absent where there is none.
    public var near: String?

    /// Creates the document from its members.
    public init(id: String, reason: Reason, count: Int, lastAsked: Timestamp, near: String? = nil) {
      self.id = id
      self.reason = reason
      self.count = count
      self.lastAsked = lastAsked
      self.near = near
    }
  }

  /// When this process began to count.
  public var since: Timestamp
  /// The most frequent first, at most 200.
  public var items: [Item]
  /// Questions that are in no item, since there is room for so many identifiers only.
  public var others: Int

  /// Creates the document from its members.
  public init(since: Timestamp, items: [Item], others: Int) {
    self.since = since
    self.items = items
    self.others = others
  }
}
