import AgentRecords
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime

// Downloads that are read while they come.
extension DownloadManager {
  /// A request reads the download, whose urgency stays as it is. Throws `download-unknown`.
  func openReading(of identifier: DownloadIdentifier) throws -> DownloadReading.Request {
    let record = try record(identifier)
    let standing = standing(of: record)
    if let known = readings[identifier] {
      known.set(standing)
      return known.begin()
    }
    let reading = DownloadReading(standing, changes: readingChanges, clock: clock, wakeUp: runner.wakeUp)
    let request = reading.begin()
    // One that is over is read, and not remembered.
    guard !record.isHistory else { return request }
    readings[identifier] = reading
    openStaged(of: record)
    return request
  }

  /// The request's program may say how urgently a download is wanted: this one is wanted now from here on, until ``readingGrace`` after the
  /// last such request. Does nothing for one that is over.
  func hasten(by request: DownloadReading.Request) {
    let identifier = request.reading.identifier
    guard readings[identifier] === request.reading, request.hasten() else { return }
    publish(identifier)
    schedule()
  }

  /// The download of the product that is under way, to be read; nil where there is none. Of several the newest, since it brings the
  /// newest version. With `version` one that brings this version, or whose version is not known yet; others are left as they are.
  func openReading(
    ofProduct product: ProductIdentifier, version: ContentVersion?
  ) throws -> DownloadReading.Request? {
    let newest = newestLive(of: product) { record in
      guard let version, let known = status(of: record).version else { return true }
      return known == version
    }
    return try newest.map { try openReading(of: $0.identifier) }
  }

  /// The download under way that brings a file of that version, such as one of a section; nil where none does. One whose manifest has not
  /// come may bring it, and a section's download is expected to be of that version before its terms have come. Nothing becomes more urgent
  /// by this.
  func download(
    bringing path: String, of product: ProductIdentifier, version: ContentVersion
  ) -> DownloadIdentifier? {
    let newest = newestLive(of: product) { record in
      guard let terms = record.terms else { return record.section != nil }
      guard terms.version == version else { return false }
      switch source(of: record) {
      case .pending: return true
      case .placed: return false
      case .staged(let demand):
        return demand.extents.map { $0.manifest.files.contains { $0.path.text == path } } ?? true
      }
    }
    return newest?.identifier
  }

  private func newestLive(
    of product: ProductIdentifier, where fits: (DownloadRecord) -> Bool
  ) -> DownloadRecord? {
    runner.entries.values.map(\.record)
      .filter { $0.product == product && !$0.machine.state.isFinal && fits($0) }
      .max { $0.sequence < $1.sequence }
  }

  /// Whether it has readers now, or had some a moment ago.
  private func isRead(_ identifier: DownloadIdentifier) -> Bool { readings[identifier] != nil }

  /// Whether it is wanted now for readers that it has, or had a moment ago.
  func isHastened(_ identifier: DownloadIdentifier) -> Bool { readings[identifier]?.isHastened ?? false }

  /// Its readers are told how it stands.
  func updateReading(of identifier: DownloadIdentifier) {
    guard let reading = readings[identifier], let record = runner[identifier]?.record else { return }
    reading.set(standing(of: record))
    openStaged(of: record)
  }

  /// Ends what is read no more: its urgency is what it was, and its pieces come in the server's order.
  func endIdleReadings() {
    for (identifier, reading) in readings {
      let wasHastened = reading.isHastened
      var hasChanged = reading.endHaste(idleFor: readingGrace)
      if let idle = reading.idleTime, idle >= readingGrace {
        readings[identifier] = nil
        if let record = runner[identifier]?.record { endDemand(of: record) }
        hasChanged = wasHastened
      }
      if hasChanged { publish(identifier) }
    }
  }

  /// Until the next one is to be ended; nil where all have open requests.
  var timeToNextIdleReading: Duration? {
    readings.values.flatMap { [$0.idleTime, $0.hasteIdleTime] }
      .compactMap { $0.map { max(.zero, readingGrace - $0) } }.min()
  }

  private func endDemand(of record: DownloadRecord) {
    guard let digest = record.claimedDigest, let job = jobsByDigest[digest].flatMap({ jobs[$0] }),
      !(claims[digest] ?? []).contains(where: isRead)
    else { return }
    job.context.demand.noteReadersGone()
  }

  private func standing(of record: DownloadRecord) -> DownloadReading.Standing {
    DownloadReading.Standing(status: status(of: record), source: source(of: record))
  }

  private func source(of record: DownloadRecord) -> DownloadReading.Source {
    let isPlaced =
      record.machine.state == .finished
      || record.machine.phase == .report && record.placedAt != nil && record.machine.state != .cancelled
    if isPlaced, let version = record.terms?.version { return .placed(record.product, version) }
    // Of another product's job the files may have other names.
    guard let digest = record.claimedDigest, let job = jobsByDigest[digest].flatMap({ jobs[$0] }),
      job.record.terms.manifestDigest == record.terms?.manifestDigest
    else { return .pending }
    let isExpected = job.context.demand.extents != nil || job.record.machine.phase != .manifest
    return isExpected ? .staged(job.context.demand) : .pending
  }

  /// Opens what an earlier process has staged before its job has a place to go on.
  private func openStaged(of record: DownloadRecord) {
    guard let digest = record.claimedDigest, let identifier = jobsByDigest[digest],
      let job = jobs[identifier], job.context.demand.extents == nil, job.step == nil,
      job.record.machine.isLive, job.record.machine.phase != .manifest, stagedOpenings[identifier] == nil
    else { return }
    // Unstructured: the pieces are read on the session's thread. A step that begins meanwhile waits for the end.
    stagedOpenings[identifier] = Task { [jobSteps] in
      await jobSteps.openForReading(job.record, demand: job.context.demand)
      endOpening(of: identifier)
    }
  }

  private func endOpening(of identifier: ContentJobIdentifier) {
    stagedOpenings[identifier] = nil
  }
}
