public import CoreTypes
public import HTTPParsing

extension Preconditions {
  /// Reads the conditional fields of an async handler's request; see
  /// ``init(head:bytes:entityTag:lastModified:isLastModifiedStrong:)``.
  public init(
    _ request: HTTPRequest, entityTag: String, lastModified: Timestamp? = nil,
    isLastModifiedStrong: Bool = false
  ) {
    self.init(isReading: request.method == .get || request.method == .head)
    let tag = Array(entityTag.utf8)
    func lists(_ name: String, comparison: EntityTagList.Comparison) -> Bool? {
      let values = request.headers.values(of: name)
      guard !values.isEmpty else { return nil }
      return values.contains { value in
        let bytes = Array(value.utf8)
        return EntityTagList.matches(bytes.span, entityTag: tag.span, comparison: comparison)
      }
    }
    func date(_ name: String) -> Int64? {
      let values = request.headers.values(of: name)
      guard values.count == 1 else { return nil }
      let bytes = Array(values[0].utf8)
      return HTTPDate.parse(bytes.span)?.secondsSinceEpoch
    }
    ifMatch = lists("If-Match", comparison: .strong)
    ifNoneMatch = lists("If-None-Match", comparison: .weak).map { !$0 }
    if let lastModified {
      ifUnmodifiedSince = date("If-Unmodified-Since").map { lastModified.secondsSinceEpoch <= $0 }
      ifModifiedSince = date("If-Modified-Since").map { lastModified.secondsSinceEpoch > $0 }
    }
    let ranges = request.headers.values(of: "If-Range")
    if request.headers.contains("Range"), let value = ranges.first {
      let bytes = Array(value.utf8)
      ifRange =
        ranges.count == 1
        && Preconditions.matchesRange(
          bytes.span, entityTag: tag.span, lastModified: isLastModifiedStrong ? lastModified : nil)
    }
  }
}

extension RangeSet {
  /// The ranges that a request asks for; only GET has any, and two fields have none.
  public static func requested(_ request: HTTPRequest, length: Int64) -> RangeSet {
    let values = request.headers.values(of: "Range")
    guard request.method == .get, values.count == 1 else { return .ignore }
    let bytes = Array(values[0].utf8)
    return parse(bytes.span, length: length)
  }
}
