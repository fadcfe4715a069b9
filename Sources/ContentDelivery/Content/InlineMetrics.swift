import CoreTypes
package import Monitoring
import PullboxAPI
import Synchronization

/// The requests of one route that the loops answered themselves. Each loop counts for itself, with a load and a
/// store; the sums belong to the metric of all requests (``RouteMetrics``).
package final class InlineMetrics: Sendable {
  /// The counts of one loop. Only the loop's thread adds to them.
  package final class Loop: Sendable {
    fileprivate let whole = Atomic<Int>(0)
    fileprivate let part = Atomic<Int>(0)
    fileprivate let notModified = Atomic<Int>(0)
    fileprivate let preconditionFailed = Atomic<Int>(0)
    fileprivate let unsatisfiable = Atomic<Int>(0)
    /// By ``ContentRefusal/rawValue``.
    fileprivate let refused = ContentRefusal.allCases.map { _ in Count() }

    fileprivate final class Count: Sendable {
      let value = Atomic<Int>(0)
    }

    func count(_ refusal: ContentRefusal) {
      Self.increment(refused[refusal.rawValue].value)
    }

    @inline(__always)
    func count(_ decision: RangeDecision) {
      switch decision {
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
  private let route: String

  /// Its counts are part of `requests` from now on, under the route's pattern.
  package init(of route: String, includedIn requests: RouteMetrics) {
    self.route = route
    requests.include({ self.totals }, refusals: { self.refusals })
  }

  package func makeLoop() -> Loop {
    let loop = Loop()
    loops.locked { $0.append(loop) }
    return loop
  }

  /// The refusals of all loops by their code; a code that no loop has sent has no entry.
  private var refusals: [RouteMetrics.Refusal: Int] {
    let loops = loops.locked { $0 }
    return ContentRefusal.allCases.reduce(into: [:]) { sums, refusal in
      let count = loops.reduce(0) { $0 + $1.refused[refusal.rawValue].value.load(ordering: .relaxed) }
      guard count > 0 else { return }
      sums[RouteMetrics.Refusal(route: route, code: refusal.code.text)] = count
    }
  }

  /// The sums over all loops; a status that was never sent has none.
  private var totals: [RouteMetrics.Key: Int] {
    let loops = loops.locked { $0 }
    func sum(_ count: (Loop) -> Int) -> Int { loops.reduce(0) { $0 + count($1) } }
    let totals = [
      (200, sum { $0.whole.load(ordering: .relaxed) }), (206, sum { $0.part.load(ordering: .relaxed) }),
      (304, sum { $0.notModified.load(ordering: .relaxed) }),
      (412, sum { $0.preconditionFailed.load(ordering: .relaxed) }),
      (416, sum { $0.unsatisfiable.load(ordering: .relaxed) }),
    ]
    let refusals = ContentRefusal.allCases.map { refusal in
      (refusal.code.status, sum { $0.refused[refusal.rawValue].value.load(ordering: .relaxed) })
    }
    return (totals + refusals).filter { $0.1 > 0 }.reduce(into: [:]) { totals, sum in
      totals[RouteMetrics.Key(route: route, status: sum.0), default: 0] += sum.1
    }
  }
}
