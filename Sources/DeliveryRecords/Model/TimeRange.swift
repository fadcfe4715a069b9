package import CoreTypes

/// What a list in order of time is narrowed to: from `since` on, and before `until`.
package struct TimeRange: Hashable, Sendable {
  package var since: Timestamp?
  package var until: Timestamp?

  package init(since: Timestamp? = nil, until: Timestamp? = nil) {
    self.since = since
    self.until = until
  }
}
