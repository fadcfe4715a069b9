public import CoreTypes

/// The conditional fields of a request, compared with the selected representation (RFC 9110 §13). Only for a
/// request that would otherwise be answered with success: a client that may not see the representation must
/// have been refused before.
public struct Preconditions: Hashable, Sendable {
  /// The verdict of the conditions on the response.
  public enum Verdict: Hashable, Sendable {
    /// Answer as asked; a `Range` counts.
    case proceed
    /// Answer as asked, but whole: `If-Range` did not match.
    case proceedWithoutRange
    /// 304.
    case notModified
    /// 412.
    case failed
  }

  /// `If-Match` (§13.1.1): true when a listed tag matches. Like its fellows nil without the field, or when
  /// the field is to be ignored.
  public var ifMatch: Bool?
  /// `If-Unmodified-Since` (§13.1.4): true when the representation is not newer.
  public var ifUnmodifiedSince: Bool?
  /// `If-None-Match` (§13.1.2): true when no listed tag matches.
  public var ifNoneMatch: Bool?
  /// `If-Modified-Since` (§13.1.3): true when the representation is newer.
  public var ifModifiedSince: Bool?
  /// `If-Range` (§13.1.5): true when the validator matches.
  public var ifRange: Bool?
  /// GET or HEAD.
  public var isReading: Bool

  /// The conditions by their outcomes; requests are read by the other initializers.
  public init(
    isReading: Bool, ifMatch: Bool? = nil, ifUnmodifiedSince: Bool? = nil, ifNoneMatch: Bool? = nil,
    ifModifiedSince: Bool? = nil, ifRange: Bool? = nil
  ) {
    self.isReading = isReading
    self.ifMatch = ifMatch
    self.ifUnmodifiedSince = ifUnmodifiedSince
    self.ifNoneMatch = ifNoneMatch
    self.ifModifiedSince = ifModifiedSince
    self.ifRange = ifRange
  }

  /// In the order of RFC 9110 §13.2.2.
  public var verdict: Verdict {
    if let ifMatch {
      if !ifMatch { return .failed }
    } else if ifUnmodifiedSince == false {
      return .failed
    }
    if let ifNoneMatch {
      if !ifNoneMatch { return isReading ? .notModified : .failed }
    } else if isReading, ifModifiedSince == false {
      return .notModified
    }
    return ifRange == false ? .proceedWithoutRange : .proceed
  }
}

extension Preconditions {
  /// Reads the conditional fields of an inline handler's request, without allocating. `entityTag` is the
  /// representation's tag in the form of its `ETag` field, with quotes. A date in `If-Range` never matches
  /// unless the last modification is known to be a strong validator (RFC 9110 §8.8.2.2).
  public init(
    head: borrowing RequestHead, bytes: Span<UInt8>, entityTag: Span<UInt8>, lastModified: Timestamp? = nil,
    isLastModifiedStrong: Bool = false
  ) {
    self.init(isReading: head.method == .get || head.method == .head)
    guard head.hasConditions else { return }
    ifMatch =
      head.value(of: .ifMatch) == nil
      ? nil : head.lists(.ifMatch, bytes: bytes, entityTag: entityTag, comparison: .strong)
    ifNoneMatch =
      head.value(of: .ifNoneMatch) == nil
      ? nil : !head.lists(.ifNoneMatch, bytes: bytes, entityTag: entityTag, comparison: .weak)
    if let lastModified {
      ifUnmodifiedSince = head.date(.ifUnmodifiedSince, in: bytes).map {
        lastModified.secondsSinceEpoch <= $0
      }
      ifModifiedSince = head.date(.ifModifiedSince, in: bytes).map { lastModified.secondsSinceEpoch > $0 }
    }
    if head.value(of: .range) != nil, let value = head.value(of: .ifRange) {
      ifRange =
        !head.isRepeated(.ifRange)
        && Preconditions.matchesRange(
          bytes.extracting(value), entityTag: entityTag,
          lastModified: isLastModifiedStrong ? lastModified : nil)
    }
  }

  /// RFC 9110 §13.1.5: a tag exactly and strongly, a date exactly.
  package static func matchesRange(
    _ value: Span<UInt8>, entityTag: Span<UInt8>, lastModified: Timestamp?
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
    _ known: KnownField, bytes: Span<UInt8>, entityTag tag: Span<UInt8>, comparison: EntityTagList.Comparison
  ) -> Bool {
    for index in 0..<fieldCount {
      let field = fields[index]
      guard KnownField.named(bytes, start: Int(field.nameStart), length: Int(field.nameLength)) == known,
        EntityTagList.matches(bytes.extracting(field.value), entityTag: tag, comparison: comparison)
      else { continue }
      return true
    }
    return false
  }

  /// Seconds since the epoch; nil without the field, with two of them, or when it is no date: then it is
  /// ignored.
  fileprivate func date(_ known: KnownField, in bytes: Span<UInt8>) -> Int64? {
    guard let value = value(of: known), !isRepeated(known) else { return nil }
    return HTTPDate.parse(bytes.extracting(value))?.secondsSinceEpoch
  }
}

/// Compares an entity tag with the list of an `If-Match` or `If-None-Match` field (RFC 9110 §8.8.3, §13.1).
package enum EntityTagList {
  /// The two functions of RFC 9110 §8.8.3.2.
  package enum Comparison: Hashable, Sendable {
    /// Both strong, and equal.
    case strong
    /// Equal but for the mark of weakness.
    case weak
  }

  /// `tag` is the representation's, with its quotes. A list that is not well-formed matches up to where it
  /// breaks.
  package static func matches(_ list: Span<UInt8>, entityTag tag: Span<UInt8>, comparison: Comparison) -> Bool
  {
    if list.count == 1, list[0] == ASCII.asterisk { return true }
    let target = tag.extracting((isStrong(tag) ? 0 : 2)...)
    var position = 0
    while position < list.count {
      let byte = list[position]
      if byte == ASCII.comma || byte == ASCII.space || byte == ASCII.tab {
        position += 1
        continue
      }
      let start = position
      if !isStrong(list.extracting(position...)) { position += 2 }
      guard position < list.count, list[position] == ASCII.quote else { return false }
      let opening = position
      position += 1
      while position < list.count, list[position] != ASCII.quote { position += 1 }
      guard position < list.count else { return false }
      position += 1
      let isSame = areEqual(list.extracting(opening..<position), target)
      switch comparison {
      case .weak: if isSame { return true }
      case .strong: if isSame, start == opening, isStrong(tag) { return true }
      }
    }
    return false
  }

  /// Whether the tag, in its quotes, has no `W/` before them.
  package static func isStrong(_ tag: Span<UInt8>) -> Bool {
    !(tag.count >= 2 && tag[0] == UInt8(ascii: "W") && tag[1] == ASCII.slash)
  }

  /// Whether the bytes are the same ones.
  package static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    for index in left.indices where left[index] != right[index] { return false }
    return true
  }
}
