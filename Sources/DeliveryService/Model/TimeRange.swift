import CoreTypes
import HTTPServer
import PullboxAPI

/// What a list in order of time is narrowed to: from `since` on, and before `until`.
struct TimeRange: Hashable, Sendable {
  static let query: Set<String> = ["since", "until"]

  var since: Timestamp?
  var until: Timestamp?

  init(since: Timestamp? = nil, until: Timestamp? = nil) {
    self.since = since
    self.until = until
  }

  /// From `?since=` and `until=`, both RFC 3339. Throws `request-malformed` for what is no date.
  init(_ request: HTTPRequest) throws(Problem) {
    since = try request.filter("since") { Timestamp(rfc3339: $0) }
    until = try request.filter("until") { Timestamp(rfc3339: $0) }
  }
}
