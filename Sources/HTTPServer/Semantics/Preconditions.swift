/// Evaluates the conditional fields of a request against the selected representation, in the order of RFC 9110 §13.2.2.
/// Only for a request that would otherwise be answered with success: whoever is not allowed to see the representation
/// must have been refused before.
public struct Preconditions: Sendable {
  public enum Verdict: Hashable, Sendable {
    /// Answer as asked; a `Range` counts.
    case proceed
    /// Answer as asked, but whole: `If-Range` did not match.
    case proceedWithoutRange
    /// 304, or 412 for methods other than GET and HEAD.
    case notModified
    case failed
  }
}
