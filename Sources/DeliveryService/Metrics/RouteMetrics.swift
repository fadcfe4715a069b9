import Synchronization

/// Requests by route and status, and refusals by problem. A lock for each request that is answered off the loops; what the
/// loops answer themselves is counted by ``InlineMetrics``.
final class RouteMetrics: Sendable {
  struct Key: Hashable, Comparable, Sendable {
    /// The route's pattern; `none` for an address that there is nothing at.
    var route: String
    var status: Int

    static func < (left: Key, right: Key) -> Bool {
      (left.route, left.status) < (right.route, right.status)
    }
  }

  private struct State {
    var requests: [Key: Int] = [:]
    var problems: [String: Int] = [:]
  }

  private let state = Mutex(State())

  func add(route: String?, status: Int, problem: String?) {
    state.withLock { state in
      state.requests[Key(route: route ?? "none", status: status), default: 0] += 1
      if let problem { state.problems[problem, default: 0] += 1 }
    }
  }

  var requests: [Key: Int] { state.withLock { $0.requests } }

  /// By the code of the problem.
  var problems: [String: Int] { state.withLock { $0.problems } }
}
