import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime

extension DownloadManager {
  /// The facts that the next look at the library rests on.
  struct LibraryNeeds: Hashable, Sendable {
    /// Whether something waits for the library or for room.
    var isWaited = false
    /// Whether bytes may be moving.
    var isTransferring = false
  }

  /// Takes in a look at the library, and looks whether the clock was set: one call, since each wakes this manager's thread up.
  ///
  /// - Parameters:
  ///   - isOnline: whether the library is there, where that is another thing than before; nil where nothing has changed.
  ///   - jobs: those for which there is room.
  func noteLook(change isOnline: Bool?, room jobs: [ContentJobIdentifier]) -> LibraryNeeds {
    if let isOnline { libraryChanged(isOnline: isOnline) }
    roomAppeared(for: jobs)
    lookAtClock()
    return LibraryNeeds(isWaited: waitsForLibrary, isTransferring: isTransferring)
  }

  /// While the library is not there, jobs are held, and nothing of it is kept open; what waited for it goes on
  /// once it is. Called by ``LibraryWatch`` at each change, and at its first look.
  func libraryChanged(isOnline: Bool) {
    // What jobs had staged that ended while the library was away.
    if isOnline, isRestored {
      let remaining = discardLeftovers(except: Set(jobs.entries.keys))
      // Unstructured: it waits for what is being placed meanwhile, and is done again at the next start.
      Task { await discard(remaining) }
    }
    changeEnvironment { $0.isLibraryOffline = !isOnline }
    if isOnline {
      retry { $0 == .libraryOffline }
    } else {
      // Unstructured: a session that is busy lets go when its step has failed, and on a dead medium that may take long. The
      // watch over the library does not wait for it.
      Task { [sessions = jobSteps.sessions.all] in
        for session in sessions { await session.letGo() }
      }
    }
  }

  /// Removes what is staged for other jobs than these, and returns those that ``discard(_:)`` has to look at. What cannot be
  /// removed is tried again at the next start.
  func discardLeftovers(except live: Set<ContentJobIdentifier>) -> [ContentJobIdentifier] {
    do {
      return try jobSteps.library.discardLeftovers(except: live)
    } catch {
      log.warning("staged files cannot be removed", ["error": LogValue(error)])
      return []
    }
  }

  /// Removes all that jobs have left which are not known any more.
  nonisolated func discard(_ jobs: [ContentJobIdentifier]) async {
    for job in jobs {
      do {
        try await jobSteps.library.discard(job)
      } catch {
        log.warning(
          "what a job has left cannot be removed", ["job": "\(job)", "error": LogValue(error)])
      }
    }
  }

  /// Those of `identifiers` that wait for room go on. They go on at once, without the rest of their delay.
  func roomAppeared(for identifiers: [ContentJobIdentifier]) {
    for identifier in identifiers where jobs[identifier]?.record.machine.waitsForRoom == true {
      processJob(.retryRequested, of: identifier)
    }
  }

  /// Whether something waits for the library or for room.
  var waitsForLibrary: Bool {
    let reasons =
      runner.entries.values.map(\.record.machine.reason) + jobs.entries.values.map(\.record.machine.reason)
    return reasons.contains { $0 == .libraryOffline || $0 == .insufficientSpace }
      || jobs.entries.values.contains(where: \.record.machine.waitsForRoom)
  }

  /// When the first of the downloads that the job is for was made; nil where that is not known.
  func firstRequest(for job: ContentJobIdentifier) -> Timestamp? {
    readers(of: job).compactMap { runner[$0]?.record.created }.min()
  }

  /// The products that a download is under way for.
  func unfinishedProducts() -> Set<ProductIdentifier> {
    Set(runner.entries.values.filter { !$0.record.machine.state.isFinal }.map(\.record.product))
  }

  /// The downloads of the product that are under way.
  func unfinished(of product: ProductIdentifier) -> [DownloadStatus] {
    runner.entries.values.filter { $0.record.product == product && !$0.record.machine.state.isFinal }
      .map { status(of: $0.record) }
  }

  /// The downloads of the product whose content is placed and was not reported yet.
  func unreported(of product: ProductIdentifier) -> [DownloadIdentifier] {
    runner.entries.filter { _, entry in
      let machine = entry.record.machine
      return entry.record.product == product && machine.phase == .report && machine.state != .finished
        && machine.state != .cancelled
    }
    .map(\.key)
  }

  /// The user removed what these downloads had placed: they do not fetch it again. Their transactions are
  /// told.
  func contentRemoved(of identifiers: [DownloadIdentifier]) {
    for identifier in identifiers {
      guard let transaction = runner[identifier]?.record.transaction else { continue }
      process(.contentRemoved, of: identifier) { record in
        guard record.machine.state == .cancelled else { return }
        record.bytesVerified = .zero
      }
      inbox.noteChange(of: transaction)
      forgetIfOver(identifier)
    }
  }

  /// Jobs before downloads.
  private func retry(_ isDue: (StatusReason) -> Bool) {
    for (identifier, entry) in jobs.entries
    where entry.record.machine.state == .waiting && isDue(entry.record.machine.reason) {
      processJob(.retryRequested, of: identifier)
    }
    for (identifier, entry) in runner.entries
    where entry.record.machine.state == .waiting && isDue(entry.record.machine.reason) {
      process(.resumeRequested, of: identifier)
    }
  }
}
