package import Commerce
package import CoreTypes
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
    /// How urgently it is wanted, before ``priority``.
    package var urgency: DownloadUrgency
    /// Higher goes first among those of one urgency.
    package var priority: Int
    /// Order of creation.
    package var sequence: Int64
    /// Its machine waits for a place, and no delay is left.
    package var isReady: Bool
    /// Its step runs, or has been stopped and is not over yet.
    package var isBusy: Bool
    /// False for what costs next to nothing: it needs no place.
    package var needsPlace: Bool
    /// For a download, whether its content has no place yet and is to get the one that it keeps.
    package var keepsPlace = false
    /// For a job, whether its step may be stopped, and goes on later without a loss.
    package var isInterruptible = false
    /// For a job, whether it gives its place back as soon as its step ends.
    package var isEnding = false
    /// For a job, the bytes that are not verified yet.
    package var bytesMissing = ByteCount.zero
    /// For a job, the conditions that hold it, as far as it knows.
    package var holds: Set<HoldCondition> = []
    /// For a job, whether a download waits for it.
    package var isWanted = true
    /// For a job, whether it fetches something yet: windows and budget are for those.
    package var usesNetwork = true
    /// A person asked for it now: windows, budget and what costs money or power do not hold it.
    package var passesLimits = false
    /// The conditions of the machine that a person has it pass.
    package var ignored: Set<MachineConditionName> = []

    package init(
      work: Work, product: ProductIdentifier, urgency: DownloadUrgency = .normal, priority: Int,
      sequence: Int64, isReady: Bool, isBusy: Bool, needsPlace: Bool, keepsPlace: Bool = false,
      isInterruptible: Bool = false, isEnding: Bool = false, bytesMissing: ByteCount = .zero,
      holds: Set<HoldCondition> = [], isWanted: Bool = true, usesNetwork: Bool = true,
      passesLimits: Bool = false, ignored: Set<MachineConditionName> = []
    ) {
      self.work = work
      self.product = product
      self.urgency = urgency
      self.priority = priority
      self.sequence = sequence
      self.isReady = isReady
      self.isBusy = isBusy
      self.needsPlace = needsPlace
      self.keepsPlace = keepsPlace
      self.isInterruptible = isInterruptible
      self.isEnding = isEnding
      self.bytesMissing = bytesMissing
      self.holds = holds
      self.isWanted = isWanted
      self.usesNetwork = usesNetwork
      self.passesLimits = passesLimits
      self.ignored = ignored
    }
  }

  /// The conditions outside the work: the library, the end of the agent, the limits of time and of bytes, and the machine.
  package struct Environment: Hashable, Sendable {
    package var isLibraryOffline = false
    package var isDraining = false
    /// When the next window opens, while none is open.
    package var outsideWindowUntil: Timestamp?
    /// When the budget begins anew, while it is spent.
    package var budgetSpentUntil: Timestamp?
    /// The machine, as its sources tell it.
    package var machine = MachineConditions()
    /// The rules for conditions of the machine.
    package var policy = MachinePolicy()

    package init(
      isLibraryOffline: Bool = false, isDraining: Bool = false, outsideWindowUntil: Timestamp? = nil,
      budgetSpentUntil: Timestamp? = nil, machine: MachineConditions = MachineConditions(),
      policy: MachinePolicy = MachinePolicy()
    ) {
      self.isLibraryOffline = isLibraryOffline
      self.isDraining = isDraining
      self.outsideWindowUntil = outsideWindowUntil
      self.budgetSpentUntil = budgetSpentUntil
      self.machine = machine
      self.policy = policy
    }

    /// When what is shown with that reason goes on by itself; nil for all that do not depend on a time.
    package func release(of reason: StatusReason) -> Timestamp? {
      switch reason {
      case .outsideWindow: outsideWindowUntil
      case .budgetSpent: budgetSpentUntil
      default: nil
      }
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
    let machine = Set(environment.policy.holds(in: environment.machine).keys)
    var due: [Set<HoldCondition>] = candidates.map { holds(of: $0, in: environment, machine) }
    if machine.contains(.busy) {
      let yielding = yielding(among: zip(candidates, due))
      for (index, candidate) in candidates.enumerated() where yielding.contains(candidate.work) {
        due[index].insert(.busy)
      }
    }
    var plan = Plan()
    plan.starts = selection(from: zip(candidates, due).filter { $0.isBusy || $1.isEmpty }.map(\.0))
    let preempted = preempted(among: zip(candidates, due), starting: Set(plan.starts))
    for (index, candidate) in candidates.enumerated() where preempted.contains(candidate.work) {
      due[index].insert(.preempted)
    }
    for (candidate, due) in zip(candidates, due) {
      guard case .job(let job) = candidate.work else { continue }
      let conditions = HoldCondition.allCases
      plan.holds += conditions.filter { due.contains($0) && !candidate.holds.contains($0) }
        .map { Change(job: job, condition: $0) }
      plan.releases += conditions.filter { !due.contains($0) && candidate.holds.contains($0) }
        .map { Change(job: job, condition: $0) }
    }
    return plan
  }

  /// A download is held by the end of the agent and by a machine that is about to sleep; a job by all conditions. That another one takes
  /// its place follows from all candidates together.
  ///
  /// - Parameter machine: the conditions of the machine that are waited for.
  private func holds(
    of candidate: Candidate, in environment: Environment, _ machine: Set<MachineConditionName>
  ) -> Set<HoldCondition> {
    guard case .job = candidate.work else {
      var holds: Set<HoldCondition> = environment.isDraining ? [.draining] : []
      if machine.contains(.sleep) { holds.insert(.asleep) }
      return holds
    }
    var holds: Set<HoldCondition> = []
    if machine.contains(.sleep) { holds.insert(.asleep) }
    for name in machine where isHeld(candidate, by: name, environment.policy) {
      holds.insert(HoldCondition(name))
    }
    if environment.isLibraryOffline { holds.insert(.libraryOffline) }
    if environment.isDraining { holds.insert(.draining) }
    if !candidate.isWanted { holds.insert(.noReader) }
    if candidate.usesNetwork, !candidate.passesLimits {
      if environment.outsideWindowUntil != nil { holds.insert(.outsideWindow) }
      if environment.budgetSpentUntil != nil { holds.insert(.budgetSpent) }
    }
    // The library says when there is room.
    if candidate.holds.contains(.noRoom) { holds.insert(.noRoom) }
    return holds
  }

  /// Whether a condition of the machine that is there holds a job. A person passes what costs money or power, and no one a way that leads
  /// nowhere; what is small goes over a metered way.
  private func isHeld(
    _ candidate: Candidate, by name: MachineConditionName, _ policy: MachinePolicy
  ) -> Bool {
    guard candidate.usesNetwork, !candidate.ignored.contains(name) else { return false }
    switch name {
    case .offline, .portal: return true
    case .metered: return !candidate.passesLimits && candidate.bytesMissing >= policy.meteredLimit
    case .batteryLow, .onBattery, .powerSaver: return !candidate.passesLimits
    case .sleep, .busy: return false
    }
  }

  /// The jobs that wait while others wait for the disk or for memory: of those that no one asked for now, all but the first half of the
  /// places, at least one. What runs goes first, so that nothing is stopped for another one.
  private func yielding(among candidates: some Sequence<(Candidate, Set<HoldCondition>)>) -> Set<Work> {
    let background = candidates.filter { candidate, due in
      guard case .job = candidate.work else { return false }
      return due.isEmpty && candidate.needsPlace && candidate.usesNetwork && candidate.urgency < .now
        && !candidate.ignored.contains(.busy) && (candidate.isBusy || candidate.isReady)
    }
    let ordered = background.map(\.0).sorted { left, right in
      guard left.isBusy == right.isBusy else { return left.isBusy }
      return (left.urgency, left.priority, right.sequence) > (right.urgency, right.priority, left.sequence)
    }
    return Set(ordered.dropFirst(max(1, maximumActive / 2)).map(\.work))
  }

  /// The jobs that make room for content that is wanted now: for each that finds no place, the running job that is least urgent, and of
  /// those the one with most bytes to fetch. A job that was stopped for that waits until nothing is wanted now, or a place
  /// is free. A place that is about to be free anyway takes the place of one that would be stopped.
  ///
  /// - Parameter candidates: all of them, each with the conditions that hold it otherwise.
  private func preempted(
    among candidates: some Sequence<(Candidate, Set<HoldCondition>)>, starting: Set<Work>
  ) -> Set<Work> {
    let free = candidates.filter { $0.isBusy || $1.isEmpty }
    let urgent = free.map(\.0).filter { $0.urgency == .now && ($0.isBusy || $0.isReady) }
    guard !urgent.isEmpty else { return [] }
    let stopped = free.map(\.0).filter {
      $0.holds.contains(.preempted) && !starting.contains($0.work) && ($0.isBusy || $0.urgency < .now)
    }
    // Of one product only one runs at once: another one waits for that, and not for a place.
    let running = Set(free.map(\.0).filter { $0.isBusy || starting.contains($0.work) }.map(\.product))
    let waiting = Set(urgent.filter { !$0.isBusy && $0.needsPlace }.map(\.product)).subtracting(running)
    let ending = free.count { candidate, due in
      candidate.isBusy && candidate.needsPlace
        && (!candidate.holds.isEmpty || !due.isEmpty || candidate.isEnding)
    }
    let victims = free.filter { candidate, due in
      candidate.isBusy && candidate.isInterruptible && candidate.needsPlace && candidate.urgency < .now
        && candidate.holds.isEmpty && due.isEmpty
    }
    let chosen = victims.map(\.0).sorted { ($1.urgency, $0.bytesMissing) > ($0.urgency, $1.bytesMissing) }
      .prefix(max(0, waiting.count - ending))
    return Set(stopped.map(\.work)).union(chosen.map(\.work))
  }

  /// The ones to start now, in that order: by urgency, by priority, by age. Of one product only one runs at once: the second
  /// finds in the library what the first has placed.
  package func selection(from candidates: [Candidate]) -> [Work] {
    let busy = candidates.filter(\.isBusy)
    var products = Set(busy.map(\.product))
    var places = maximumActive - busy.count { $0.needsPlace || $0.keepsPlace }
    var selected: [Work] = []
    let waiting = candidates.filter { $0.isReady && !$0.isBusy }
      .sorted { ($0.urgency, $0.priority, $1.sequence) > ($1.urgency, $1.priority, $0.sequence) }
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
