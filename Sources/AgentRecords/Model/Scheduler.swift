package import Commerce
package import PullboxAPI

/// Decides what is started, held and released: a pure function of what there is and of the ``Environment``.
package struct Scheduler: Hashable, Sendable {
  /// A download or a job that waits for its turn.
  package enum Work: Hashable, Sendable {
    case download(DownloadIdentifier)
    case job(ContentJobIdentifier)
  }

  /// A piece of work to choose from, and the properties that the choice depends on.
  package struct Candidate: Hashable, Sendable {
    package var work: Work
    package var product: ProductIdentifier
    /// Higher goes first.
    package var priority: Int
    /// Order of creation.
    package var sequence: Int64
    /// Its machine waits for a place, and no delay is left.
    package var isReady: Bool
    /// Its step runs, or has been stopped and is not over yet.
    package var isBusy: Bool
    /// False for what costs next to nothing: it needs no place.
    package var needsPlace: Bool
    /// For a job, the conditions that hold it, as far as it knows.
    package var holds: Set<HoldCondition> = []
    /// For a job, whether a download waits for it.
    package var isWanted = true

    package init(
      work: Work, product: ProductIdentifier, priority: Int, sequence: Int64, isReady: Bool, isBusy: Bool,
      needsPlace: Bool, holds: Set<HoldCondition> = [], isWanted: Bool = true
    ) {
      self.work = work
      self.product = product
      self.priority = priority
      self.sequence = sequence
      self.isReady = isReady
      self.isBusy = isBusy
      self.needsPlace = needsPlace
      self.holds = holds
      self.isWanted = isWanted
    }
  }

  /// The conditions outside the work: the library and the end of the agent.
  package struct Environment: Hashable, Sendable {
    package var isLibraryOffline = false
    package var isDraining = false

    package init(isLibraryOffline: Bool = false, isDraining: Bool = false) {
      self.isLibraryOffline = isLibraryOffline
      self.isDraining = isDraining
    }
  }

  /// A job and a condition that began or ended for it.
  package struct Change: Hashable, Sendable {
    package var job: ContentJobIdentifier
    package var condition: HoldCondition
  }

  package struct Plan: Hashable, Sendable {
    package var holds: [Change] = []
    package var releases: [Change] = []
    /// In that order, once the others are done.
    package var starts: [Work] = []
  }

  /// Grants that are asked for and content that is transferred at the same time, at least 1.
  package var maximumActive: Int

  package init(maximumActive: Int) {
    self.maximumActive = maximumActive
  }

  /// The same candidates in the same environment give the same plan. One that is busy takes its place also
  /// while it is held.
  package func plan(for candidates: [Candidate], in environment: Environment) -> Plan {
    var plan = Plan()
    var free: [Candidate] = []
    for candidate in candidates {
      let due = holds(of: candidate, in: environment)
      if case .job(let job) = candidate.work {
        let conditions = HoldCondition.allCases
        plan.holds += conditions.filter { due.contains($0) && !candidate.holds.contains($0) }
          .map { Change(job: job, condition: $0) }
        plan.releases += conditions.filter { !due.contains($0) && candidate.holds.contains($0) }
          .map { Change(job: job, condition: $0) }
      }
      if candidate.isBusy || due.isEmpty { free.append(candidate) }
    }
    plan.starts = selection(from: free)
    return plan
  }

  /// A download is held by the end of the agent alone; a job by all conditions.
  private func holds(of candidate: Candidate, in environment: Environment) -> Set<HoldCondition> {
    guard case .job = candidate.work else { return environment.isDraining ? [.draining] : [] }
    var holds: Set<HoldCondition> = []
    if environment.isLibraryOffline { holds.insert(.libraryOffline) }
    if environment.isDraining { holds.insert(.draining) }
    if !candidate.isWanted { holds.insert(.noReader) }
    // The library says when there is room.
    if candidate.holds.contains(.noRoom) { holds.insert(.noRoom) }
    return holds
  }

  /// The ones to start now, in that order. Of one product only one runs at once: the second finds in the
  /// library what the first has placed. Nothing that runs is interrupted for a higher priority.
  package func selection(from candidates: [Candidate]) -> [Work] {
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
