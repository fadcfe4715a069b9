import AgentRecords
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import MachineConditionSources
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import SystemCalls

/// Runs one step of a content job: does the I/O, and leaves the states to the machine. Each step ends in one
/// event and the changes to the record that belong to it.
struct ContentJobSteps: Sendable {
  /// The result of a step that was not cancelled.
  struct Outcome: Sendable {
    /// The event by which the job's machine goes on.
    var event: ContentJobMachine.Event
    /// The change to the record that is persisted together with the event.
    var change: @Sendable (inout ContentJobRecord) -> Void = { _ in }
    /// The item that the step has placed, to be told whatever becomes of the job.
    var placed: LibraryItem?
  }

  /// The client of the delivery server, for manifests and tickets.
  let server: DeliveryClient
  /// The client that transfers pieces.
  let client: HTTPClient
  /// The library that content is placed in.
  let library: Library
  /// The buffers of received pieces, shared by all transfers.
  let buffers: BufferPool
  /// The rate of all transfers together, and the budget.
  let pacer: TransferPacer
  /// The clock of placing and of setbacks.
  let clock: any WallClock
  /// Publishers' keys; when empty, the keys that products name are trusted.
  var trustedKeys: Set<PublisherKeyIdentifier> = []
  /// The bounds of a transfer.
  var limits = PieceTransfer.Limits()
  /// Keeps the machine awake while content is moved to its place; nil where it cannot.
  var inhibitor: PlacingInhibitor?
  /// The staging areas that are open, kept over setbacks.
  let sessions = StagingSessions()

  /// Those of the library, through which tests let calls of the file system fail.
  private var operations: any FileOperations { library.operations }

  /// Never throws: an error becomes the event that the step failed. Nil when the task was cancelled. A step
  /// that found no room also notes it with the library, which looks for room from then on.
  ///
  /// - Parameter action: one of those that are steps; any other is a defect and traps.
  func run(
    _ action: ContentJobMachine.Action, of record: ContentJobRecord, progress: TransferProgress,
    demand: ReadingDemand
  ) async -> Outcome? {
    let (verified, received) = (progress.bytesVerified, progress.bytesReceived)
    do {
      switch action {
      case .run(.manifest): return try await manifest(record)
      case .run(.transfer): return try await transfer(record, progress: progress, demand: demand)
      case .run(.place): return try await place(record, progress: progress)
      case .renewTicket: return try await renewTicket(record)
      default: preconditionFailure("\(action) is no step")
      }
    } catch {
      if Task.isCancelled { return nil }
      let effort = StepEffort(
        verified: max(.zero, progress.bytesVerified - verified), received: progress.bytesReceived - received,
        end: clock.now())
      let failure = StepFailure(error)
      if failure.reason == .insufficientSpace, case .retry = failure.recovery {
        let job = record.identifier
        // Where that cannot be looked at, the job's pause is what there is.
        try? await BlockingPool.shared.run { [library] in try library.space.noteFull(job) }
      }
      return Outcome(event: .stepFailed(failure, effort, length: record.terms.length))
    }
  }

  /// Fetches the manifest, checks it against the terms and its signatures, and writes it durably beside the
  /// staging area. A manifest that is not that of the terms is a permanent failure.
  private func manifest(_ record: ContentJobRecord) async throws -> Outcome {
    let terms = record.terms
    let received = try await server.manifest(terms)
    pacer.note(received.bytes.count)
    let manifest = try received.verified(against: terms.manifestDigest)
    guard manifest.digest == terms.digest, manifest.length == terms.length,
      manifest.product == terms.product, manifest.version == terms.version
    else { throw StepFailure.permanent(.integrity) }
    let paths = library.paths.paths(of: record.identifier)
    let kept = try await BlockingPool.shared.run { [library] in
      try library.keptManifest(of: record.identifier)
    }
    // What was placed by the terms before is found by the manifest that is replaced now.
    if let kept, kept.manifestDigest != manifest.manifestDigest { try await library.removeUnrecorded(kept) }
    try await BlockingPool.shared.run { [library, trustedKeys, operations] in
      try Self.checkSignature(
        of: received, for: terms, database: library.database, trustedKeys: trustedKeys)
      try operations.createDirectories(paths.state, permissions: 0o700)
      try DurableFile.write(
        received.bytes.span, to: paths.manifest, permissions: 0o600, operations: operations)
    }
    library.titles.note(manifest.displayTitle, of: manifest.product)
    let needed = Self.bytesNeeded(by: manifest.selecting(record.sections))
    return Outcome(event: .manifestVerified, change: { $0.bytesNeeded = needed })
  }

  /// Checks the manifest's signatures, and pins their keys to the product. Throws a permanent failure when
  /// they do not satisfy the policy. Blocks.
  private static func checkSignature(
    of received: UnverifiedManifest, for terms: DownloadTerms, database: AgentDatabase,
    trustedKeys: Set<PublisherKeyIdentifier>
  ) throws {
    let trust = try database.trust(in: terms, trusting: trustedKeys)
    let signers: Set<PublisherKeyIdentifier>
    do {
      signers = try trust.signers(of: received.bytes, signatures: terms.signatures ?? [])
    } catch {
      let faults = error.faults.map {
        Problem.Fault(code: $0.code.rawValue, path: $0.path, detail: $0.detail)
      }
      throw StepFailure.permanent(
        .publisherSignature,
        problem: Problem(
          .packageRejected, error.faults.map(\.detail).joined(separator: "; "), faults: faults))
    }
    try database.pin(signers.subtracting(trust.pinned), to: terms.product)
  }

  /// Takes over what the library has, reserves the room for the rest, and fetches the pieces. Answers that
  /// the content is lost where its manifest is gone.
  private func transfer(
    _ record: ContentJobRecord, progress: TransferProgress, demand: ReadingDemand
  ) async throws -> Outcome {
    let terms = record.terms
    guard let session = try await openSession(of: record, terms: terms) else {
      return Outcome(event: .contentLost(.zero, of: terms.length))
    }
    session.attach(to: demand)
    await session.setPriority(progress.priority)
    try await BlockingPool.shared.run { [library] in
      try library.requireOnline()
      try library.makeStagingFolder()
    }
    var pieces = try await session.open()
    let hasTriedSources = await session.hasTriedSources
    if !pieces.isComplete, pieces.verifiedCount == 0 || !hasTriedSources, !record.fetchesEverything {
      // Of what an earlier process took over, the end of that process may have left any part.
      let known = pieces
      pieces = try await adopt(record, in: session, lacking: known) ?? known
      await session.noteSourcesTried()
      let before = known.verifiedCount == 0 ? .zero : progress.bytesReused ?? .zero
      progress.setReused(before + pieces.bytesVerified - known.bytesVerified)
    }
    if progress.bytesReused == nil { progress.setReused(.zero) }
    let shares = UnpackedShares(session.manifest)
    let room = try await library.reserve(
      shares.need(without: pieces), for: record.identifier, of: terms.product, allocating: true)
    await session.write(into: room, shares)
    let transfer = PieceTransfer(
      client: client, session: session, buffers: buffers, progress: progress, limits: limits,
      path: server.path, demand: demand)
    let url = server.api.url(terms.contentURL)
    do {
      try await transfer.run(url: url, ticket: terms.ticket)
    } catch {
      await session.endReservation()
      throw error
    }
    await session.endReservation()
    let needed = Self.bytesNeeded(by: session.manifest)
    progress.setVerified(needed ?? terms.length)
    return Outcome(event: .transferCompleted, change: { $0.bytesNeeded = needed })
  }

  /// Unpacks what is left and moves the whole to its place, while the room for it is kept. Answers how many
  /// bytes are lost where pieces are missing by then.
  private func place(
    _ record: ContentJobRecord, progress: TransferProgress
  ) async throws -> Outcome {
    let terms = record.terms
    guard let session = try await openSession(of: record, terms: terms) else {
      return Outcome(event: .contentLost(.zero, of: terms.length))
    }
    try await BlockingPool.shared.run { [library] in
      try library.requireOnline()
      try library.makeStagingFolder()
    }
    let manifest = session.manifest
    let needed = Self.bytesNeeded(by: manifest) ?? terms.length
    let pieces = try await session.open()
    let item: LibraryItem? = try await whileAwake(placing: manifest) {
      try await library.space.whilePlacing(manifest, for: record.identifier) {
        if pieces.isComplete {
          // What lies at its place stays there until then.
          try await session.finish()
          return try await library.place(manifest, at: clock.now()) { path in
            try await session.place(at: path)
          }
        }
        // An earlier process may have renamed it and ended before it saved the record.
        return try await library.recordPlaced(manifest, at: clock.now())
      }
    }
    guard let item else {
      // What is left counts as verified by the next transfer; what is lost counts here, and only here.
      progress.setVerified(pieces.bytesVerified)
      return Outcome(
        event: .contentLost(max(.zero, needed - pieces.bytesVerified), of: terms.length))
    }
    progress.setVerified(needed)
    return Outcome(event: .placed, placed: item)
  }

  /// Runs the body; the machine does not sleep meanwhile, where it can be asked.
  private func whileAwake<Value: Sendable>(
    placing manifest: Manifest, _ body: () async throws -> Value
  ) async rethrows -> Value {
    guard let inhibitor else { return try await body() }
    return try await inhibitor.whilePlacing(manifest.displayTitle ?? manifest.product.description, body)
  }

  /// Changes the ticket in the record; the grant stays.
  private func renewTicket(_ record: ContentJobRecord) async throws -> Outcome {
    let fresh = try await server.renewTicket(of: record.grant)
    return Outcome(
      event: .ticketRenewed,
      change: { record in
        record.terms.ticket = fresh.ticket
        record.terms.ticketExpires = fresh.ticketExpires
      })
  }
}

extension ContentJobSteps {
  /// Bytes of the pieces that a manifest needs which speaks of some sections; nil where it needs all.
  private static func bytesNeeded(by manifest: Manifest) -> ByteCount? {
    manifest.selection.map { _ in PieceMap(manifest).bytesNeeded }
  }

  /// Opens what is staged, for its readers, while its job waits. Where that fails there is nothing to be read until the job goes on, which
  /// says why.
  func openForReading(_ record: ContentJobRecord, demand: ReadingDemand) async {
    guard library.availability == .online,
      let session = try? await openSession(of: record, terms: record.terms)
    else { return }
    _ = try? await session.open()
    session.attach(to: demand)
  }

  /// Reads the manifest that was verified before; its digest is compared again, since it comes from a disk.
  /// Nil where there is none that can be read. It speaks of the job's sections. A session stays open from step to step while its
  /// manifest is the same.
  private func openSession(
    of record: ContentJobRecord, terms: DownloadTerms
  ) async throws -> StagingSession? {
    if let known = sessions.session(of: record.identifier),
      known.manifest.manifestDigest == terms.manifestDigest,
      known.manifest == known.manifest.selecting(record.sections)
    {
      return known
    }
    let paths = library.paths.paths(of: record.identifier)
    let manifest = try await BlockingPool.shared.run { [operations] () -> Manifest? in
      guard try operations.status(of: paths.manifest) != nil else { return nil }
      // A manifest that was damaged on disk is fetched again, like one that is missing.
      return try operations.readIfReadable(
        paths.manifest, upTo: PackageLimits.standard.maximumManifestLength
      ).flatMap { try? UnverifiedManifest($0).verified(against: terms.manifestDigest) }
    }
    guard let manifest = manifest?.selecting(record.sections) else { return nil }
    library.titles.note(manifest.displayTitle, of: manifest.product)
    let session = StagingSession(manifest: manifest, paths: paths, operations: operations)
    sessions.keep(session, of: record.identifier)
    return session
  }

  /// Takes over what lies in the library already: links, or copies. Nil where there is nothing. Whole files
  /// come first, from every source; then, for a folder, single pieces. Room is reserved for copies alone, and
  /// given back at the end.
  ///
  /// - Parameter known: the pieces that are there already.
  private func adopt(
    _ record: ContentJobRecord, in session: StagingSession, lacking known: PieceMap
  ) async throws -> PieceMap? {
    let sources = try await library.sources(for: session.manifest, previous: record.terms.previous)
    guard !sources.isEmpty else { return nil }
    let need = UnpackedShares(session.manifest)
      .need(beside: sources.map(\.manifest), linking: library.canLink, without: known)
    // Not allocated: the copies themselves take the room.
    let room = try await library.reserve(
      need, for: record.identifier, of: record.terms.product, allocating: false)
    defer { room.release() }
    var pieces: PieceMap?
    let isFolder = session.manifest.kind == .folder
    for byPiece in isFolder ? [false, true] : [false] {
      for source in sources where pieces?.isComplete != true {
        let free = try await BlockingPool.shared.run { [library, operations] in
          try operations.freeSpace(at: library.paths.library)
        }
        pieces = try await session.adopt(
          from: source.manifest, at: source.path, byPiece: byPiece,
          room: max(.zero, free - library.space.reserve))
      }
    }
    return pieces
  }
}
