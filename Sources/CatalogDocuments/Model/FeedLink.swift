package import CoreTypes

/// A link of a feed or of an entry.
package struct FeedLink: Hashable, Sendable {
  /// The meaning of a link, by its registered name or by the address that OPDS gives it.
  package enum Relation: String, Hashable, Sendable {
    case itself = "self"
    case start
    case up
    case first
    case previous
    case next
    case search
    case alternate
    case subsection
    case newest = "http://opds-spec.org/sort/new"
    case facet = "http://opds-spec.org/facet"
    case shelf = "http://opds-spec.org/shelf"
    case acquisition = "http://opds-spec.org/acquisition"
    case openAccess = "http://opds-spec.org/acquisition/open-access"
    case buy = "http://opds-spec.org/acquisition/buy"
    case subscribe = "http://opds-spec.org/acquisition/subscribe"
    case sample = "http://opds-spec.org/acquisition/sample"
    /// How far a product was read, as Readium's applications look for it.
    case progression = "http://www.cantook.com/api/progression"
    case stream = "http://vaemendis.net/opds-pse/stream"
  }

  /// The kind of the document that a link leads to, by which its media type is chosen.
  package enum Kind: Hashable, Sendable {
    /// A feed whose entries lead to feeds.
    case navigation
    /// A feed of publications.
    case acquisition
    /// The document of one publication.
    case entry
    /// A description of the search.
    case searchDescription
    /// A document of another type; nil where the type is not known.
    case other(String?)
  }

  /// A price, as it is paid.
  package struct Price: Hashable, Sendable {
    /// A decimal number with a point.
    package var amount: String
    /// The currency by its ISO 4217 code.
    package var currency: String

    package init(amount: String, currency: String) {
      self.amount = amount
      self.currency = currency
    }
  }

  /// From when to when a product is for sale.
  package struct Availability: Hashable, Sendable {
    package var since: Timestamp?
    package var until: Timestamp?

    package init(since: Timestamp? = nil, until: Timestamp? = nil) {
      self.since = since
      self.until = until
    }
  }

  /// The pages that a link of OPDS-PSE leads to.
  package struct Stream: Hashable, Sendable {
    package var count: Int
    /// The page that was read last, counted from one; nil where none was.
    package var lastRead: Int?
    package var lastReadDate: Timestamp?

    package init(count: Int, lastRead: Int? = nil, lastReadDate: Timestamp? = nil) {
      self.count = count
      self.lastRead = lastRead
      self.lastReadDate = lastReadDate
    }
  }

  package var relation: Relation
  package var target: CatalogPage
  package var kind: Kind
  package var title: String?
  /// The price of what the link leads to; nil for nothing, or where no territory is known.
  package var price: Price?
  /// The type of what is there in the end, where the link leads to a page before it.
  package var indirectType: String?
  package var availability: Availability?
  /// Nil for a link to anything but pages.
  package var stream: Stream?

  package init(
    _ relation: Relation, to target: CatalogPage, _ kind: Kind, title: String? = nil, price: Price? = nil,
    indirectType: String? = nil, availability: Availability? = nil, stream: Stream? = nil
  ) {
    self.relation = relation
    self.target = target
    self.kind = kind
    self.title = title
    self.price = price
    self.indirectType = indirectType
    self.availability = availability
    self.stream = stream
  }
}
