/// The conditional fields of a request, held against the selected representation (RFC 9110 §13). Only for a request that
/// would otherwise be answered with success: whoever may not see the representation must have been refused before.
public struct Preconditions: Hashable, Sendable {
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

  /// Whether the field's condition holds; nil without the field, or when it is to be ignored.
  public var ifMatch: Bool?
  public var ifUnmodifiedSince: Bool?
  public var ifNoneMatch: Bool?
  public var ifModifiedSince: Bool?
  public var ifRange: Bool?
  /// GET or HEAD.
  public var isReading: Bool

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
