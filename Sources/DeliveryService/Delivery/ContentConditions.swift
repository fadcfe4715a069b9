import HTTPServer

/// Reads the conditional fields and the range of a request for content.
enum ContentConditions {
  static func verdict(on request: HTTPRequest, about entry: ContentEntry) -> Preconditions.Verdict {
    .proceed
  }

  static func verdict(
    on head: borrowing RequestHead, _ bytes: Span<UInt8>, about entry: ContentEntry
  ) -> Preconditions.Verdict { .proceed }

  static func range(of request: HTTPRequest, in entry: ContentEntry) -> RangeSet { .ignore }

  static func range(
    of head: borrowing RequestHead, _ bytes: Span<UInt8>, in entry: ContentEntry
  ) -> RangeSet { .ignore }
}
