package import CoreTypes

/// The time range of a list in order of time: from `since` on, and before `until`.
package struct TimeRange: Hashable, Sendable {
  /// The first moment that counts; nil for the beginning of time.
  package var since: Timestamp?
  /// The first moment that counts no more; nil for none.
  package var until: Timestamp?

  /// Both ends are open where they are nil.
  package init(since: Timestamp? = nil, until: Timestamp? = nil) {
    self.since = since
    self.until = until
  }
}
