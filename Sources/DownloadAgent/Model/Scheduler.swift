import Commerce
import PullboxAPI

/// Decides what is started. A pure value.
struct Scheduler: Hashable, Sendable {
  /// What waits for its turn.
  enum Work: Hashable, Sendable {
    case download(DownloadIdentifier)
    case job(ContentJobIdentifier)
  }

  /// What the choice depends on.
  struct Candidate: Hashable, Sendable {
    var work: Work
    var product: ProductIdentifier
    /// Higher goes first.
    var priority: Int
    /// Order of creation.
    var sequence: Int64
    var isReady: Bool
    /// Its step runs, or has been stopped and is not over yet.
    var isBusy: Bool
    /// False for what costs next to nothing: it needs no place.
    var needsPlace: Bool
  }

  /// Grants that are asked for and content that is transferred at the same time, at least 1.
  var maximumActive: Int

  /// The ones to start now, in that order. Of one product only one runs at once: the second finds in the
  /// library what the first has placed. Nothing that runs is interrupted for a higher priority.
  func selection(from candidates: [Candidate]) -> [Work] {
    let busy = candidates.filter(\.isBusy)
    var products = Set(busy.map(\.product))
    var places = maximumActive - busy.count { $0.needsPlace }
    var selected: [Work] = []
    let waiting = candidates.filter { $0.isReady && !$0.isBusy }
      .sorted { ($0.priority, $1.sequence) > ($1.priority, $0.sequence) }
    for candidate in waiting where !products.contains(candidate.product) {
      if candidate.needsPlace {
        guard places > 0 else { continue }
        places -= 1
      }
      products.insert(candidate.product)
      selected.append(candidate.work)
    }
    return selected
  }
}
