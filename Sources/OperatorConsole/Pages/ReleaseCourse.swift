import CoreTypes
import PullboxAPI

/// How many devices reported a version as placed, hour by hour: from the newest grants of it.
struct ReleaseCourse: Sendable {
  private static let pages = 5
  private static let hours = 48

  private let words: Words
  private let now: Timestamp
  private var placed: [Timestamp] = []
  private var waiting = 0
  private var isComplete = true
  private var problem: Problem?

  /// Reads the grants, of which five pages at most are looked at.
  init(_ visit: Visit, product: String, version: String) async {
    words = visit.words
    now = visit.now
    var after: String?
    for _ in 0..<Self.pages {
      let reading = await visit.get(
        .interface(
          "deliveries",
          query: [("product", product), ("version", version), ("after", after), ("limit", "200")]),
        as: PullboxAPI.Page<OperatorGrant>.self)
      switch reading {
      case .failure(let problem):
        self.problem = problem
        return
      case .success(let page):
        for grant in page.items { note(grant) }
        after = page.next
      }
      if after == nil { return }
    }
    isComplete = false
  }

  private mutating func note(_ grant: OperatorGrant) {
    if let moment = grant.history.first(where: { $0.state == .completed || $0.state == .finished })?.at {
      placed.append(moment)
    } else if grant.state == .granted {
      waiting += 1
    }
  }

  var markup: Markup {
    element(.section) {
      element(.h2) { words(.course) }
      if let problem {
        Parts.problem(problem, words)
      } else if placed.isEmpty, waiting == 0 {
        element(.p) { words(.noCourse) }
      } else {
        element(.p) { words(.placedAndWaiting, words.number(placed.count), words.number(waiting)) }
        if !isComplete { element(.p, .look(.hint)) { words(.courseOfNewest) } }
        chart
      }
    }
  }

  private var chart: Markup {
    let begin = now - .seconds(3600 * Int64(Self.hours))
    let points = (1...Self.hours).map { hour in
      let end = begin + .seconds(3600 * Int64(hour))
      let count = placed.count { $0 <= end }
      return BarChart.Point(name: words.moment(end), value: count, text: words.number(count))
    }
    return BarChart(
      title: words(.placedByHour), heading: words(.when), valueHeading: words(.devices),
      tableTitle: words(.asTable),
      points: points
    ).markup
  }
}
