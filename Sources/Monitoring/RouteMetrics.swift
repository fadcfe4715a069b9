internal import CoreTypes
internal import Synchronization

/// Requests by route and status, how long each route took, and refusals by the code of the problem. It takes a lock for each
/// request that is answered off the loops; what answers on a loop counts for itself, and adds its counts to the same metric
/// when the page is read (``include(_:)``).
public final class RouteMetrics: MetricSource {
  /// The key that requests are counted by.
  public struct Key: Hashable, Comparable, Sendable {
    /// The route's pattern; `none` for an address without a route.
    public var route: String
    /// The status of the response.
    public var status: Int

    /// A route's pattern with a status.
    public init(route: String, status: Int) {
      self.route = route
      self.status = status
    }

    /// In the order of routes, then of statuses.
    public static func < (left: Key, right: Key) -> Bool {
      (left.route, left.status) < (right.route, right.status)
    }
  }

  /// A refusal by a route.
  public struct Refusal: Hashable, Sendable {
    /// The route's pattern; `none` for an address without a route.
    public var route: String
    /// The problem's code.
    public var code: String

    /// A problem's code at a route's pattern.
    public init(route: String, code: String) {
      self.route = route
      self.code = code
    }
  }

  private struct State {
    var requests: [Key: Int] = [:]
    var durations: [String: DurationHistogram] = [:]
    var refusals: [Refusal: Int] = [:]
    var others: [@Sendable () -> [Key: Int]] = []
    var otherRefusals: [@Sendable () -> [Refusal: Int]] = []
  }

  private let state = Mutex(State())

  /// Nothing counted.
  public init() {}

  /// Counts one request, which was answered after `duration`. `route` is nil for an address without a route, `problem` for a
  /// response without one.
  public func count(route: String?, status: Int, problem: String?, duration: Duration) {
    state.locked { state in
      state.durations[route ?? "none", default: DurationHistogram()].add(duration)
      state.requests[Key(route: route ?? "none", status: status), default: 0] += 1
      if let problem { state.refusals[Refusal(route: route ?? "none", code: problem), default: 0] += 1 }
    }
  }

  /// Adds requests that are counted elsewhere, and those of them that were refused; both are asked for each page.
  public func include(
    _ counts: @escaping @Sendable () -> [Key: Int],
    refusals: @escaping @Sendable () -> [Refusal: Int] = { [:] }
  ) {
    state.locked {
      $0.others.append(counts)
      $0.otherRefusals.append(refusals)
    }
  }

  /// The requests that are counted elsewhere.
  public var included: [Key: Int] {
    let others = state.locked { $0.others }
    return others.reduce(into: [:]) { sum, counts in sum.merge(counts(), uniquingKeysWith: +) }
  }

  /// Requests by route and status.
  public var requests: [Key: Int] {
    included.merging(state.locked { $0.requests }, uniquingKeysWith: +)
  }

  /// The refusals so far; tests hold them against docs/openapi.yaml.
  public var refusals: [Refusal: Int] {
    let (own, others) = state.locked { ($0.refusals, $0.otherRefusals) }
    return others.reduce(into: own) { sum, refusals in sum.merge(refusals(), uniquingKeysWith: +) }
  }

  private var problems: [String: Int] {
    refusals.reduce(into: [:]) { $0[$1.key.code, default: 0] += $1.value }
  }

  /// Adds requests, durations and refusals.
  public func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_http_requests_total", help: "Requests that reached a route, by route and status.",
        labels: ["route", "code"]
      ) {
        self.requests.sorted { $0.key < $1.key }.map { key, count in
          .init(count, labels: [key.route, String(key.status)])
        }
      },
      .histogram(
        "pullbox_http_request_duration_seconds",
        help:
          "From the route of a request to the beginning of its response, by route; content that a loop answers is not in it.",
        labels: ["route"]
      ) {
        self.state.locked { $0.durations }.sorted { $0.key < $1.key }.map {
          .init($0.value, labels: [$0.key])
        }
      },
      .counter("pullbox_problems_total", help: "Refusals, by the code of the problem.", labels: ["code"]) {
        self.problems.sorted { $0.key < $1.key }.map { .init($0.value, labels: [$0.key]) }
      },
    ])
  }
}
