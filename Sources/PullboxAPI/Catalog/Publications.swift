public import Commerce
import CoreTypes

/// A publication as a shop window shows it: texts of one locale, prices of one territory.
public struct PublicationListing: Codable, Sendable {
  /// The publication.
  public var id: ProductIdentifier
  /// In the language that fits the request best; the identifier where the operator has written no texts.
  public var title: String
  /// In the language of the title; may be empty.
  public var description: String
  /// Where everyone may read the cover that stands for it, a path at this server; absent where there is none.
  public var coverURL: String?
  /// The issue for sale that appeared last; absent while there is none.
  public var latestIssue: ProductListing?
  /// Those for sale that open its issues, by identifier.
  public var subscriptions: [ProductListing]

  /// Creates the document from its members.
  public init(
    id: ProductIdentifier, title: String, description: String, coverURL: String? = nil,
    latestIssue: ProductListing? = nil,
    subscriptions: [ProductListing]
  ) {
    self.id = id
    self.title = title
    self.description = description
    self.coverURL = coverURL
    self.latestIssue = latestIssue
    self.subscriptions = subscriptions
  }
}
