import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import SystemCalls

/// Runs one step of a download: does the I/O, and leaves the states to the machine. Each step ends in one
/// event and the changes to the record that belong to it.
struct DownloadSteps: Sendable {
  struct Outcome: Sendable {
    var event: DownloadMachine.Event
    /// The change to the record that is persisted together with the event.
    var change: @Sendable (inout DownloadRecord) -> Void = { _ in }
    /// Kept for the step that follows.
    var session: StagingSession?
    var placed: LibraryItem?
    /// The grant's state when the server accepted the completion.
    var grantState: GrantState?
  }

  let server: DeliveryClient
  let store: StoreQueueClient
  let client: HTTPClient
  let library: Library
  let buffers: BufferPool
  let clock: any WallClock
  /// Publishers' keys; when empty, the keys that products name are trusted.
  var trustedKeys: Set<PublisherKeyIdentifier> = []
  var limits = PieceTransfer.Limits()
  /// What must stay free beside the content.
  var spaceReserve = ByteCount.mebibytes(32)

  /// Never throws: an error becomes the event that the step failed. Nil when the task was cancelled.
  func run(
    _ action: DownloadMachine.Action, of record: DownloadRecord, session: StagingSession?,
    progress: TransferProgress
  ) async -> Outcome? {
    let before = progress.bytesVerified
    do {
      switch action {
      case .run(.grant): return try await grant(record)
      case .run(.manifest): return try await manifest(record)
      case .run(.transfer): return try await transfer(record, progress: progress)
      case .run(.place): return try await place(record, from: session)
      case .run(.report): return try await report(record)
      case .renewTicket: return try await renewTicket(record)
      default: preconditionFailure("\(action) is no step")
      }
    } catch {
      if Task.isCancelled { return nil }
      return Outcome(event: .stepFailed(StepFailure(error), madeProgress: progress.bytesVerified > before))
    }
  }

  private func grant(_ record: DownloadRecord) async throws -> Outcome {
    let proof: Proof
    do {
      proof = try await store.receipt()
    } catch {
      throw StepFailure(error, from: .store)
    }
    let response = try await server.grant(record.product, for: record.transaction, proof: proof)
    let terms = response.download
    guard terms.product == record.product else { throw StepFailure.permanent(.protocolViolation) }
    let now = clock.now()
    let held = try await BlockingPool.shared.run { [library, trustedKeys] in
      let trust = try library.database.trust(in: terms, trusting: trustedKeys)
      return try library.reuse(
        terms, for: record.identifier, now: now, fromOthers: trust.asksForNothing)
    }
    return Outcome(
      event: .granted(libraryHoldsContent: held != nil),
      change: { record in
        // This is other content than before: what was verified of that does not count.
        if record.terms?.digest != terms.digest { record.bytesVerified = .zero }
        record.grant = response.grant
        record.terms = terms
        guard let held else { return }
        record.bytesVerified = terms.length
        record.placedAt = now
        record.contentPath = held.path
      },
      placed: held)
  }

  private func manifest(_ record: DownloadRecord) async throws -> Outcome {
    guard let terms = record.terms else { throw StepFailure(.queued, .requestGrant) }
    let received = try await server.manifest(terms)
    let manifest = try received.verified(against: terms.manifestDigest)
    guard manifest.digest == terms.digest, manifest.length == terms.length,
      manifest.product == terms.product, manifest.version == terms.version
    else { throw StepFailure.permanent(.integrity) }
    let paths = library.paths.paths(of: record.identifier)
    try await BlockingPool.shared.run { [library, trustedKeys] in
      try Self.checkSignature(
        of: received, for: terms, database: library.database, trustedKeys: trustedKeys)
      try FileSystem.createDirectories(paths.state, permissions: 0o700)
      try DurableFile.write(received.bytes.span, to: paths.manifest, permissions: 0o600)
    }
    return Outcome(event: .manifestVerified)
  }

  /// Checks the manifest's signatures, and pins their keys to the product. Throws a permanent failure when
  /// they do not satisfy the policy.
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

  private func transfer(_ record: DownloadRecord, progress: TransferProgress) async throws -> Outcome {
    guard let terms = record.terms else { throw StepFailure(.queued, .requestGrant) }
    let session = try await openSession(of: record, terms: terms)
    var pieces = try await session.open()
    if pieces.verifiedCount == 0,
      let previous = try await BlockingPool.shared.run({ [library] in try library.previous(to: terms) })
    {
      pieces = try await session.adopt(from: previous.manifest, at: previous.path)
    }
    try await checkSpace(for: session.manifest, staged: pieces)
    let transfer = PieceTransfer(
      client: client, session: session, buffers: buffers, progress: progress, limits: limits)
    try await transfer.run(url: server.api.url(terms.contentURL), ticket: terms.ticket)
    return Outcome(
      event: .transferCompleted, change: { $0.bytesVerified = terms.length }, session: session)
  }

  private func place(_ record: DownloadRecord, from known: StagingSession?) async throws -> Outcome {
    guard let terms = record.terms else { throw StepFailure(.queued, .requestGrant) }
    let session: StagingSession
    if let known { session = known } else { session = try await openSession(of: record, terms: terms) }
    let target = library.directory(of: terms.product, version: terms.version)
    let manifest = session.manifest
    let contentPath: String
    if try await session.open().isComplete {
      // What is there without a record has no claim to the name.
      try await BlockingPool.shared.run { [library] in try library.moveAside(target) }
      contentPath = try await session.place(at: target).contentPath
    } else if let found = try await findContent(at: target, manifest: manifest) {
      // An earlier process had renamed it and ended before it saved the record.
      contentPath = found.contentPath
    } else {
      return Outcome(event: .contentLost)
    }
    let item = LibraryItem(
      product: terms.product, version: terms.version, path: contentPath, digest: terms.digest,
      length: manifest.unpackedLength, placedAt: clock.now(), title: manifest.displayTitle)
    try await BlockingPool.shared.run { [library] in
      try library.database.saveLibraryItem(item, manifest: manifest.canonicalBytes())
    }
    return Outcome(
      event: .placed,
      change: { record in
        record.placedAt = item.placedAt
        record.contentPath = item.path
      },
      placed: item)
  }

  private func report(_ record: DownloadRecord) async throws -> Outcome {
    guard let terms = record.terms, let grant = record.grant, let placedAt = record.placedAt,
      let path = record.contentPath
    else { return Outcome(event: .contentLost) }
    guard try await BlockingPool.shared.run({ try FileSystem.status(of: path) }) != nil else {
      return Outcome(event: .contentLost)
    }
    let response = try await server.complete(grant, terms: terms, placedAt: placedAt)
    return Outcome(event: .reportAccepted, grantState: response.state)
  }

  private func renewTicket(_ record: DownloadRecord) async throws -> Outcome {
    guard let grant = record.grant else { throw StepFailure(.queued, .requestGrant) }
    let fresh = try await server.renewTicket(of: grant)
    return Outcome(
      event: .ticketRenewed,
      change: { record in
        record.terms?.ticket = fresh.ticket
        record.terms?.ticketExpires = fresh.ticketExpires
      })
  }
}

extension DownloadSteps {
  /// Reads the manifest that was verified before; its digest is compared again, since it comes from a disk.
  private func openSession(
    of record: DownloadRecord, terms: DownloadTerms
  ) async throws -> StagingSession {
    let paths = library.paths.paths(of: record.identifier)
    let manifest = try await BlockingPool.shared.run { () -> Manifest? in
      guard try FileSystem.status(of: paths.manifest) != nil else { return nil }
      let bytes = try FileSystem.read(paths.manifest, upTo: PackageLimits.standard.maximumManifestLength)
      // A manifest that was damaged on disk is fetched again, like one that is missing.
      return try? UnverifiedManifest(bytes).verified(against: terms.manifestDigest)
    }
    guard let manifest else { throw StepFailure(.queued, .requestGrant) }
    return StagingSession(manifest: manifest, paths: paths)
  }

  private func checkSpace(for manifest: Manifest, staged pieces: PieceMap) async throws {
    let free = try await BlockingPool.shared.run { [library] in try library.freeSpace() }
    let staged = pieces.bytesVerified
    let missing = manifest.unpackedLength - min(staged, manifest.unpackedLength)
    if free < missing + spaceReserve { throw StepFailure.retry(.insufficientSpace) }
  }

  private func findContent(at target: String, manifest: Manifest) async throws -> PlacedContent? {
    try await BlockingPool.shared.run {
      do {
        return try PlacedContent.find(at: target, manifest: manifest)
      } catch is PackageValidationError {
        // Something is there, and it is not this content.
        return nil
      }
    }
  }
}
