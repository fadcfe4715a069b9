public import CoreTypes

extension Preconditions {
  /// Reads the conditional fields of an inline handler's request, without allocating. `entityTag` is the representation's
  /// as it stands in its `ETag` field, with quotes. A date in `If-Range` never matches unless the last modification is
  /// known to be a strong validator (RFC 9110 §8.8.2.2).
  public init(
    head: borrowing RequestHead, bytes: Span<UInt8>, entityTag: Span<UInt8>, lastModified: Timestamp? = nil,
    isLastModifiedStrong: Bool = false
  ) {
    self.init(isReading: head.method == .get || head.method == .head)
    guard head.hasConditions else { return }
    ifMatch =
      head.value(of: .ifMatch) == nil
      ? nil : head.lists(.ifMatch, bytes, entityTag, comparison: .strong)
    ifNoneMatch =
      head.value(of: .ifNoneMatch) == nil
      ? nil : !head.lists(.ifNoneMatch, bytes, entityTag, comparison: .weak)
    if let lastModified {
      ifUnmodifiedSince = head.date(.ifUnmodifiedSince, bytes).map { lastModified.secondsSinceEpoch <= $0 }
      ifModifiedSince = head.date(.ifModifiedSince, bytes).map { lastModified.secondsSinceEpoch > $0 }
    }
    if head.value(of: .range) != nil, let value = head.value(of: .ifRange) {
      ifRange =
        !head.isRepeated(.ifRange)
        && Preconditions.matchesRange(
          bytes.extracting(value), entityTag, isLastModifiedStrong ? lastModified : nil)
    }
  }

  /// Reads the conditional fields of an async handler's request; see ``init(head:bytes:entityTag:lastModified:isLastModifiedStrong:)``.
  public init(
    _ request: HTTPRequest, entityTag: String, lastModified: Timestamp? = nil,
    isLastModifiedStrong: Bool = false
  ) {
    self.init(isReading: request.method == .get || request.method == .head)
    let tag = Array(entityTag.utf8)
    func lists(_ name: String, _ comparison: EntityTagList.Comparison) -> Bool? {
      let values = request.headers.values(of: name)
      guard !values.isEmpty else { return nil }
      return values.contains { value in
        let bytes = Array(value.utf8)
        return EntityTagList.matches(bytes.span, tag.span, comparison)
      }
    }
    func date(_ name: String) -> Int64? {
      let values = request.headers.values(of: name)
      guard values.count == 1 else { return nil }
      let bytes = Array(values[0].utf8)
      return HTTPDate.parse(bytes.span)?.secondsSinceEpoch
    }
    ifMatch = lists("If-Match", .strong)
    ifNoneMatch = lists("If-None-Match", .weak).map { !$0 }
    if let lastModified {
      ifUnmodifiedSince = date("If-Unmodified-Since").map { lastModified.secondsSinceEpoch <= $0 }
      ifModifiedSince = date("If-Modified-Since").map { lastModified.secondsSinceEpoch > $0 }
    }
    let ranges = request.headers.values(of: "If-Range")
    if request.headers.contains("Range"), let value = ranges.first {
      let bytes = Array(value.utf8)
      ifRange =
        ranges.count == 1
        && Preconditions.matchesRange(bytes.span, tag.span, isLastModifiedStrong ? lastModified : nil)
    }
  }

  /// RFC 9110 §13.1.5: a tag exactly and strongly, a date exactly.
  private static func matchesRange(
    _ value: Span<UInt8>, _ entityTag: Span<UInt8>, _ lastModified: Timestamp?
  ) -> Bool {
    for index in 0..<min(3, value.count) where value[index] == ASCII.quote {
      return EntityTagList.isStrong(value) && EntityTagList.areEqual(value, entityTag)
    }
    guard let lastModified, let date = HTTPDate.parse(value) else { return false }
    return date.secondsSinceEpoch == lastModified.secondsSinceEpoch
  }
}

extension RequestHead {
  /// Whether one of the five conditional fields is there.
  public var hasConditions: Bool {
    value(of: .ifMatch) != nil || value(of: .ifNoneMatch) != nil || value(of: .ifModifiedSince) != nil
      || value(of: .ifUnmodifiedSince) != nil || value(of: .ifRange) != nil
  }

  /// Whether one of the fields of that name lists the tag.
  fileprivate func lists(
    _ known: KnownField, _ bytes: Span<UInt8>, _ tag: Span<UInt8>, comparison: EntityTagList.Comparison
  ) -> Bool {
    for index in 0..<fieldCount {
      let field = fields[index]
      guard KnownField.named(bytes, start: Int(field.nameStart), length: Int(field.nameLength)) == known,
        EntityTagList.matches(bytes.extracting(field.value), tag, comparison)
      else { continue }
      return true
    }
    return false
  }

  /// Seconds since the epoch; nil without the field, with two of them, or when it is no date: then it is ignored.
  fileprivate func date(_ known: KnownField, _ bytes: Span<UInt8>) -> Int64? {
    guard let value = value(of: known), !isRepeated(known) else { return nil }
    return HTTPDate.parse(bytes.extracting(value))?.secondsSinceEpoch
  }
}
