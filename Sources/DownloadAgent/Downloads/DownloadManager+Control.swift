import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime

extension DownloadManager {
  /// Downloads of one page of a list, at most.
  static let maximumPage = 1000

  /// One page of the downloads in one of `states`, the newest first, from the first that is older than
  /// `after`. A page shorter than `limit` is the last one. Throws `download-unknown` for an `after` that there
  /// is not. What is at work comes from memory, so that the states and the progress are those of now.
  func downloads(
    in states: Set<DownloadStatus.State> = Set(DownloadStatus.State.allCases), of session: SessionName? = nil,
    after: DownloadIdentifier? = nil, limit: Int = maximumPage
  ) throws -> [DownloadStatus] {
    let end = try after.map { try record($0).sequence } ?? .max
    // What waits for its job is shown in the job's state, which the database does not have.
    let live = runner.entries.values.map(\.record).filter {
      $0.sequence < end && $0.session == session ?? $0.session
    }
    let ended: [DownloadStatus.State] = [.finished, .cancelled].filter(states.contains)
    let past =
      ended.isEmpty
      ? []
      : try database.downloads(in: ended, of: session, before: end, limit: limit).filter {
        runner[$0.identifier] == nil
      }
    let found = live.map { (sequence: $0.sequence, status: status(of: $0)) }
      .filter { states.contains($0.status.state) }
    let all = found + past.map { (sequence: $0.sequence, status: status(of: $0)) }
    return all.sorted { $0.sequence > $1.sequence }.prefix(limit).map(\.status)
  }

  /// How many downloads there are in each state. Those that ended are counted in the database. Throws what
  /// the database throws.
  func counts() throws -> [DownloadStatus.State: Int] {
    var counts = try database.endedDownloadCounts()
    for entry in runner.entries.values where !entry.record.isHistory {
      counts[status(of: entry.record).state, default: 0] += 1
    }
    return counts
  }

  /// How many wait because there is no room.
  var waitingForRoomCount: Int {
    runner.entries.values.count { entry in
      guard !entry.record.isHistory else { return false }
      let status = status(of: entry.record)
      return status.state == .waiting && status.reason == StatusReason.insufficientSpace.rawValue
    }
  }

  /// Forgets downloads that are over, but for those of transactions that are not; returns how many there were. One that has failed is
  /// asked about now and then, and ends with this. Throws what the database throws.
  func clearHistory() throws -> Int {
    let failed = runner.entries.values.map(\.record).filter { $0.machine.state == .failed }
    for record in failed where try database.transaction(record.transaction)?.machine.isOver != false {
      process(.cancelRequested, of: record.identifier)
    }
    return try database.clearDownloads()
  }

  /// Throws the ``Problem`` for a download there is not.
  func status(_ identifier: DownloadIdentifier) throws -> DownloadStatus {
    status(of: try record(identifier))
  }

  /// Pauses, resumes or cancels a download, and returns its status after that. Throws `download-unknown`, or
  /// `state-conflict` for what does not fit the state. It is saved before its actions are performed. Throws
  /// `internal-error` where that fails.
  ///
  /// - Parameter event: a pause, a resume or a cancellation.
  func request(_ event: DownloadMachine.Event, of identifier: DownloadIdentifier) throws -> DownloadStatus {
    let record = try record(identifier)
    let before = record.machine.state
    // What is over comes back into memory for as long as the request takes, or for good.
    if runner[identifier] == nil { runner.insert(record, context: DownloadActivity(), isSaved: true) }
    defer { forgetIfOver(identifier) }
    if event == .cancelRequested, isPlacing(record) {
      throw Problem(.stateConflict, "the content is being placed")
    }
    let received = job(of: record)?.context.progress.bytesReceived
    let actions = process(event, of: identifier) { record in
      guard record.machine.state == .cancelled, before != .cancelled else { return }
      // What was staged goes.
      record.bytesVerified = .zero
      record.bytesReceived = received ?? record.bytesReceived
    }
    guard let actions else {
      throw Problem(.internalError, "the agent's state cannot be saved")
    }
    if actions.contains(.reject) {
      throw Problem(.stateConflict, "the download is \(before.rawValue)")
    }
    if event == .cancelRequested { noteUnwanted(record) }
    inbox.noteChange(of: record.transaction)
    return status(of: try self.record(identifier))
  }

  /// Sets what the scheduler orders downloads by, also of one that is over: what the change does not name stays. A download that is
  /// wanted now may take the place of another one at once, and where a `user` asks for it, it passes windows and budget. Throws
  /// `download-unknown`, and what the database throws.
  ///
  /// - Parameter user: the number of the user who asks; nil for the agent itself.
  func change(
    _ change: AgentDownloadChange, of identifier: DownloadIdentifier, by user: UInt32? = nil
  ) throws -> DownloadStatus {
    var record = try record(identifier)
    record.priority = change.priority ?? record.priority
    record.urgency = change.urgency ?? record.urgency
    record.wantedBy =
      record.urgency != .now ? nil : change.urgency == nil ? record.wantedBy : user ?? record.wantedBy
    record.session = change.session ?? record.session
    if let names = change.ignore { record.ignored = names.map { IgnoredCondition(name: $0, by: user) } }
    if let user, change.urgency == .now {
      log.info(
        "a person wants a download now",
        [
          "download": "\(identifier)", "product": LogValue(record.product.description), "uid": "\(user)",
        ])
    }
    if let user, let names = change.ignore {
      log.info(
        "a person has a download pass conditions",
        [
          "download": "\(identifier)", "product": LogValue(record.product.description), "uid": "\(user)",
          "conditions": LogValue(names.map(\.rawValue).joined(separator: " ")),
        ])
    }
    if runner[identifier] == nil { try database.save(record) }
    try runner.update(identifier) { [record] known in
      known.priority = record.priority
      known.urgency = record.urgency
      known.wantedBy = record.wantedBy
      known.session = record.session
      known.ignored = record.ignored
    }
    publish(identifier)
    schedule()
    return try status(identifier)
  }

  /// The downloads of the transaction that bear no name yet are those of the app. Throws what the database throws.
  func noteSession(_ session: SessionName, of transaction: TransactionIdentifier) throws {
    for record in try records(of: transaction) where record.session == nil {
      _ = try change(AgentDownloadChange(session: session), of: record.identifier)
    }
  }

  /// Whether the latest download of the product by that transaction was cancelled, of this version or of a later one. Throws what the database
  /// throws.
  func isDeclined(
    _ product: ProductIdentifier, _ version: ContentVersion?, of transaction: TransactionIdentifier
  ) throws -> Bool {
    let latest = try records(of: transaction).last { $0.product == product && $0.section == nil }
    guard let latest, latest.machine.state == .cancelled else { return false }
    guard let version, let cancelled = latest.terms?.version else { return true }
    return version <= cancelled
  }

  /// How each product of a transaction stands; sections count for nothing, since a transaction ends without them. Of several downloads of one product that one counts which has delivered it, else what
  /// is under way, else the last. Throws what the database throws. They come in no particular order. The list
  /// is empty for a transaction without downloads.
  func outcomes(of transaction: TransactionIdentifier) throws -> [TransactionMachine.Outcome] {
    let records = try records(of: transaction).filter { $0.section == nil }
    return Dictionary(grouping: records, by: \.product).values.compactMap { records in
      let outcomes = records.map(\.outcome)
      return [.delivered, .pending].first(where: outcomes.contains) ?? outcomes.last
    }
  }

  /// For people: those that are over are left out while they cannot be read. Never throws, for it is told
  /// beside a transaction.
  func downloads(of transaction: TransactionIdentifier) -> [DownloadIdentifier] {
    do {
      return try records(of: transaction).map(\.identifier)
    } catch {
      log.error(
        "downloads cannot be read", ["transaction": "\(transaction)", "error": LogValue(error)])
      return runner.entries.values.map(\.record).filter { $0.transaction == transaction }.map(\.identifier)
    }
  }

  /// The latest download of the transaction that was reported, to ask the server about its grant; nil where none has finished. Throws what
  /// the database throws.
  func lastReported(of transaction: TransactionIdentifier) throws -> DownloadRecord? {
    try records(of: transaction).last { $0.machine.state == .finished && $0.grant != nil }
  }

  /// Those of the products of which the transaction has no download. Throws what the database throws.
  func withoutDownload(
    _ products: [ProductIdentifier], of transaction: TransactionIdentifier
  ) throws -> [ProductIdentifier] {
    guard !products.isEmpty else { return [] }
    let known = Set(try records(of: transaction).filter { $0.section == nil }.map(\.product))
    return products.filter { !known.contains($0) }
  }

  /// Delivers products once more whose content the transaction has brought already, and of whose report the server knows nothing. What the
  /// library does not hold any more, or a reader has cancelled, is not: it waits for a restore. Throws what the database throws.
  func deliverAgain(
    _ products: [ProductIdentifier], of transaction: TransactionIdentifier, session: SessionName?,
    ignored: [IgnoredCondition]
  ) throws {
    let held = Set(try database.libraryRecords().map(\.product))
    let own = try records(of: transaction).filter { $0.section == nil && $0.machine.state == .finished }
    for product in products
    where held.contains(product) && own.contains(where: { $0.product == product })
      && repeated.isDue(product, of: transaction, at: clock.now())
    {
      guard try !isDeclined(product, nil, of: transaction) else { continue }
      if try addMissing(product, for: transaction, session: session, ignored: ignored) != nil {
        repeated.note(product, of: transaction, at: clock.now())
      }
    }
  }

  /// Tells the observers how a download stands. Nothing is told of one that is over and forgotten.
  func publish(_ identifier: DownloadIdentifier) {
    guard let record = runner[identifier]?.record else { return }
    hub.publish(.download(status(of: record)))
    updateReading(of: identifier)
  }

  /// Whether its content is being moved to its place at this moment, which cannot be taken back.
  private func isPlacing(_ record: DownloadRecord) -> Bool {
    guard let job = job(of: record)?.record.machine else { return false }
    return job.state == .active && job.phase == .place
  }

  /// The job that brings the content it claims; nil where none does.
  private func job(of record: DownloadRecord) -> JobRunner.Entry? {
    record.claimedDigest.flatMap { jobsByDigest[$0] }.flatMap { jobs[$0] }
  }

  /// The download with the progress of its job up to now, the estimate, the title and the shortage of room.
  func status(of record: DownloadRecord) -> DownloadStatus {
    let job = job(of: record)
    var working = job?.record
    if let job, var record = working {
      job.context.progress.copy(into: &record)
      working = record
    }
    let estimate = estimate(of: record, working)
    var status = record.status(working, estimate, now: steps.clock.now())
    if isHastened(record.identifier) { status.urgency = .now }
    status.title = jobSteps.library.titles[record.product]
    if status.reason == StatusReason.insufficientSpace.rawValue, let working {
      status.space = jobSteps.library.space.shortage(of: working.identifier)
    }
    if status.state == .waiting {
      let reason = StatusReason(rawValue: status.reason)
      status.notBefore = environment.release(of: reason) ?? status.notBefore
      status.condition = condition(behind: reason)
    }
    return status
  }

  /// Those in memory stand in place of what was saved last.
  private func records(of transaction: TransactionIdentifier) throws -> [DownloadRecord] {
    try database.downloads(of: transaction).map { runner[$0.identifier]?.record ?? $0 }
  }

  /// From memory, else from the database. Throws `download-unknown`.
  func record(_ identifier: DownloadIdentifier) throws -> DownloadRecord {
    if let record = runner[identifier]?.record { return record }
    guard let record = try database.download(identifier) else {
      throw Problem(.downloadUnknown, "no download is called \(identifier)")
    }
    return record
  }
}
