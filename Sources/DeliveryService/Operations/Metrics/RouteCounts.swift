import Synchronization

/// Requests by route and status, and refusals by problem. A lock for each request that is answered off the loops; what the
/// loops answer themselves is counted by ``ContentCounts``.
final class RouteCounts: Sendable {
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

/// Requests for content that the loops answered themselves. Each loop counts for itself, with a load and a store.
final class ContentCounts: Sendable {
  /// What one loop counted. Only its thread adds.
  final class Loop: Sendable {
    fileprivate let whole = Atomic<Int>(0)
    fileprivate let part = Atomic<Int>(0)
    fileprivate let notModified = Atomic<Int>(0)
    fileprivate let preconditionFailed = Atomic<Int>(0)
    fileprivate let unsatisfiable = Atomic<Int>(0)

    @inline(__always)
    func add(_ answer: ContentAnswer) {
      switch answer {
      case .whole: Self.increment(whole)
      case .part: Self.increment(part)
      case .notModified: Self.increment(notModified)
      case .preconditionFailed: Self.increment(preconditionFailed)
      case .unsatisfiable: Self.increment(unsatisfiable)
      // Not answered on a loop.
      case .parts: break
      }
    }

    @inline(__always)
    private static func increment(_ count: borrowing Atomic<Int>) {
      count.store(count.load(ordering: .relaxed) + 1, ordering: .relaxed)
    }
  }

  private let loops = Mutex<[Loop]>([])

  func makeLoop() -> Loop {
    let loop = Loop()
    loops.withLock { $0.append(loop) }
    return loop
  }

  /// By status.
  var totals: [(status: Int, count: Int)] {
    let loops = loops.withLock { $0 }
    func sum(_ count: (Loop) -> Int) -> Int { loops.reduce(0) { $0 + count($1) } }
    return [
      (200, sum { $0.whole.load(ordering: .relaxed) }), (206, sum { $0.part.load(ordering: .relaxed) }),
      (304, sum { $0.notModified.load(ordering: .relaxed) }),
      (412, sum { $0.preconditionFailed.load(ordering: .relaxed) }),
      (416, sum { $0.unsatisfiable.load(ordering: .relaxed) }),
    ]
  }
}
