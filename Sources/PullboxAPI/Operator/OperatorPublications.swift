public import Commerce
public import CoreTypes

/// A publication as an operator writes it: the body of `PUT /v1/operator/publications/{id}`.
public struct PublicationDescription: Codable, Sendable, OperatorWritten {
  /// The publication's name; it may be left out, the address has it.
  public var id: ProductIdentifier?
  /// Texts by BCP 47 tag; none: lists show the identifier.
  public var localizations: [String: Product.Localization]?
  /// The product whose cover stands for the publication; absent for its latest issue.
  public var cover: ProductIdentifier?
  /// Where it stands in lists, 0 to 1,000,000: lower ones first, those without one last.
  public var order: Int?

  /// Creates the description. What is nil is left out and gets its default.
  public init(
    id: ProductIdentifier? = nil, localizations: [String: Product.Localization]? = nil,
    cover: ProductIdentifier? = nil, order: Int? = nil
  ) {
    self.id = id
    self.localizations = localizations
    self.cover = cover
    self.order = order
  }

  /// What describes that publication again.
  public init(of publication: OperatorPublication) {
    self.init(
      id: publication.id, localizations: publication.localizations, cover: publication.cover,
      order: publication.order)
  }
}

/// A publication as the operator sees it.
public struct OperatorPublication: Codable, Sendable {
  /// The publication.
  public var id: ProductIdentifier
  /// Texts by BCP 47 tag; may be empty.
  public var localizations: [String: Product.Localization]
  /// The product whose cover stands for it; absent for its latest issue.
  public var cover: ProductIdentifier?
  /// Where it stands in lists; absent for behind those that have one.
  public var order: Int?
  /// When it was first described, by the server's clock.
  public var created: Timestamp
  /// When its description last changed, by the server's clock.
  public var changed: Timestamp

  /// Creates the document from its members.
  public init(
    id: ProductIdentifier, localizations: [String: Product.Localization], cover: ProductIdentifier?,
    order: Int?, created: Timestamp, changed: Timestamp
  ) {
    self.id = id
    self.localizations = localizations
    self.cover = cover
    self.order = order
    self.created = created
    self.changed = changed
  }
}
