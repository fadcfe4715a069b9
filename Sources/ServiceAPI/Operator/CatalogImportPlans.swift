public import Commerce

/// The answer to `POST /v1/operator/catalog/preview`: what an import would change, item by item. Nothing is changed.
public struct CatalogImportPlan: Codable, Sendable {
  /// Items whose changes are told, at most.
  public static let maximumChanges = 1000

  /// The items that would be made, changed, and left as they are.
  public var report: CatalogImportReport
  /// The items that would be made or changed, in the order of the import, with price tiers and publications first.
  public var changes: [CatalogImportChange]
  /// Whether there are more changes than are told.
  public var hasMore: Bool

  /// Creates the document from its members.
  public init(report: CatalogImportReport, changes: [CatalogImportChange], hasMore: Bool) {
    self.report = report
    self.changes = changes
    self.hasMore = hasMore
  }
}

/// An item that an import would make or change.
public struct CatalogImportChange: Codable, Sendable {
  /// The kinds of items.
  public enum Kind: String, ListedWords, Sendable {
    case product
    case publication
    case priceTier = "price-tier"
  }

  /// A member that would have another value.
  public struct Member: Codable, Hashable, Sendable {
    /// The member with those around it: `prices.FRA.amount`.
    public var member: String
    /// The value that it has; absent where there is none.
    public var old: String?
    /// The value that it would have; absent where there would be none.
    public var new: String?

    /// Creates the document from its members.
    public init(member: String, old: String? = nil, new: String? = nil) {
      self.member = member
      self.old = old
      self.new = new
    }
  }

  /// The kind of the item.
  public var kind: Kind
  /// Its identifier, or the tier's name.
  public var id: String
  /// Whether there is none of that name yet.
  public var isNew: Bool
  /// The members that would have other values, in the order of their names.
  public var members: [Member]

  /// Creates the document from its members.
  public init(kind: Kind, id: String, isNew: Bool, members: [Member]) {
    self.kind = kind
    self.id = id
    self.isNew = isNew
    self.members = members
  }
}
