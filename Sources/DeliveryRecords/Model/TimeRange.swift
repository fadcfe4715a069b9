package import CoreTypes

/// The time range of a list in order of time: from `since` on, and before `until`.
package struct TimeRange: Hashable, Sendable {
  package var since: Timestamp?
  package var until: Timestamp?

  package init(since: Timestamp? = nil, until: Timestamp? = nil) {
    self.since = since
    self.until = until
  }
}
