import CoreTypes

extension PublicationsWriter {
  /// The objects of OPDS 2.0, with the members that are written.
  enum Document {
    struct Feed: Encodable {
      var metadata: FeedMetadata
      var links: [Link]
      var navigation: [Link]?
      var groups: [Group]?
      var facets: [Facets]?
      var publications: [Publication]?
    }

    struct FeedMetadata: Encodable {
      var title: String
      var subtitle: String?
      var identifier: String
      var modified: Timestamp
      var itemsPerPage: Int?
    }

    struct Title: Encodable {
      var title: String
    }

    struct Link: Encodable {
      var href: String
      var rel: [String]?
      var type: String?
      var title: String?
      var isTemplated: Bool?
      var properties: Properties?
      /// Bytes of what is there.
      var size: Int64?
      /// Pixels of a picture.
      var width: Int?
      /// The same in other sizes.
      var alternate: [Link]?

      private enum CodingKeys: String, CodingKey {
        case href, rel, type, title, properties, size, width, alternate
        case isTemplated = "templated"
      }
    }

    struct Properties: Encodable {
      var price: Price?
      var indirectAcquisition: [Indirect]?
      var availability: Availability?

      var isEmpty: Bool { price == nil && indirectAcquisition == nil && availability == nil }
    }

    struct Price: Encodable {
      var currency: String
      var value: Double
    }

    struct Indirect: Encodable {
      var type: String
    }

    struct Availability: Encodable {
      var state: String
      var since: Timestamp?
      var until: Timestamp?
    }

    struct Group: Encodable {
      var metadata: Title
      var links: [Link]
      var publications: [Publication]
    }

    struct Facets: Encodable {
      var metadata: Title
      var links: [Link]
    }

    struct Publication: Encodable {
      var metadata: Metadata
      var links: [Link]
      var images: [Link]
    }

    struct Metadata: Encodable {
      var type: String
      var title: String
      var identifier: String
      var description: String?
      var modified: Timestamp
      var published: Timestamp?
      var numberOfPages: Int?
      var belongsTo: [String: [Series]]?

      private enum CodingKeys: String, CodingKey {
        case type = "@type"
        case title, identifier, description, modified, published, numberOfPages, belongsTo
      }
    }

    struct Series: Encodable {
      var name: String
      var identifier: String
      var links: [Link]
    }
  }
}
