import Synchronization

/// Requests by route and status, and refusals by the code of the problem. It takes a lock for each request that
/// is answered off the loops; what answers on a loop counts for itself, and adds its counts to the same metric
/// when the page is read (``include(_:)``).
final class RouteMetrics: MetricSource {
  struct Key: Hashable, Comparable, Sendable {
    /// The route's pattern; `none` for an address without a route.
    var route: String
    var status: Int

    static func < (left: Key, right: Key) -> Bool {
      (left.route, left.status) < (right.route, right.status)
    }
  }

  /// A refusal by a route.
  struct Refusal: Hashable, Sendable {
    var route: String
    /// The problem's code.
    var code: String
  }

  private struct State {
    var requests: [Key: Int] = [:]
    var refusals: [Refusal: Int] = [:]
    var others: [@Sendable () -> [Key: Int]] = []
  }

  private let state = Mutex(State())

  /// Counts one request. `route` is nil for an address without a route, `problem` for a response without one.
  func count(route: String?, status: Int, problem: String?) {
    state.withLock { state in
      state.requests[Key(route: route ?? "none", status: status), default: 0] += 1
      if let problem { state.refusals[Refusal(route: route ?? "none", code: problem), default: 0] += 1 }
    }
  }

  /// Adds requests that are counted elsewhere; `counts` is asked for each page.
  func include(_ counts: @escaping @Sendable () -> [Key: Int]) {
    state.withLock { $0.others.append(counts) }
  }

  /// The requests that are counted elsewhere.
  var included: [Key: Int] {
    let others = state.withLock { $0.others }
    return others.reduce(into: [:]) { sum, counts in sum.merge(counts(), uniquingKeysWith: +) }
  }

  /// Requests by route and status.
  var requests: [Key: Int] {
    included.merging(state.withLock { $0.requests }, uniquingKeysWith: +)
  }

  /// What was refused so far; tests hold it against docs/openapi.yaml.
  var refusals: [Refusal: Int] { state.withLock { $0.refusals } }

  private var problems: [String: Int] {
    refusals.reduce(into: [:]) { $0[$1.key.code, default: 0] += $1.value }
  }

  func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_http_requests_total", help: "Requests that reached a route, by route and status.",
        labels: ["route", "code"]
      ) {
        self.requests.sorted { $0.key < $1.key }.map { key, count in
          .init(count, labels: [key.route, String(key.status)])
        }
      },
      .counter("pullbox_problems_total", help: "Refusals, by the code of the problem.", labels: ["code"]) {
        self.problems.sorted { $0.key < $1.key }.map { .init($0.value, labels: [$0.key]) }
      },
    ])
  }
}
