import AgentRecords
import ContentPackage
package import CoreTypes
package import HTTPClient
import PullboxAPI
import PullboxAPIClient

/// Fetches the missing pieces of one package, range by range, and trusts each piece by its digest alone. What
/// was verified stays, however this ends; what came of a piece when the connection was lost is gone on with by the next
/// transfer of this process.
package struct PieceTransfer: Sendable {
  package struct Limits: Sendable {
    /// A piece that came damaged so often, each time over a connection of its own, ends the transfer.
    var corruptTries = 5
    /// A transfer below the lowest speed (``SpeedHistory``) for so long has stalled. Whole seconds.
    package var stallAfter = SpeedHistory.stallAfter
    var connectTimeout: Duration = .seconds(10)
    /// A second; nil is no cap. One connection has it, and no other is opened beside that.
    package var maximumSpeed: ByteCount?
    /// The connections of one transfer.
    package var connections = ConnectionPlan()

    package init(
      corruptTries: Int = 5, stallAfter: Duration = SpeedHistory.stallAfter,
      connectTimeout: Duration = .seconds(10), maximumSpeed: ByteCount? = nil,
      connections: ConnectionPlan = ConnectionPlan()
    ) {
      self.connections = connections
      self.corruptTries = corruptTries
      self.stallAfter = stallAfter
      self.connectTimeout = connectTimeout
      self.maximumSpeed = maximumSpeed
    }
  }

  package let client: HTTPClient
  package let session: StagingSession
  package let buffers: BufferPool
  package let progress: TransferProgress
  package let limits: Limits
  /// Shared by all transfers from this server.
  package var path = ServerPath()
  /// The demand of the package's readers; nil where it cannot be read meanwhile.
  package var demand: ReadingDemand?

  package init(
    client: HTTPClient, session: StagingSession, buffers: BufferPool, progress: TransferProgress,
    limits: Limits, path: ServerPath = ServerPath(), demand: ReadingDemand? = nil
  ) {
    self.client = client
    self.session = session
    self.buffers = buffers
    self.progress = progress
    self.limits = limits
    self.path = path
    self.demand = demand
  }

  /// Returns when every piece is written; throws ``StepFailure``, or `CancellationError` once the task is
  /// cancelled. `url` is absolute. Pieces are asked for in runs, a piece whose beginning is there first. While the package has readers,
  /// ``PieceOrder`` says which run is next, and a run that brings others is cut short. The request after damage goes over a
  /// connection of its own. Where one connection does not fill the way, there are several (``ConnectionPlan``).
  package func run(url: String, ticket: String) async throws {
    try path.checkScheme(of: url)
    var pieces = try await session.open()
    progress.setVerified(pieces.bytesVerified)
    let connections = TransferConnections(
      limits.maximumSpeed == nil ? limits.connections : ConnectionPlan(maximum: 1),
      allowance: path.allowance, progress: progress,
      missing: pieces.bytesNeeded - pieces.bytesVerified, clock: path.clock)
    let content = Content(url: url, ticket: ticket, connections: connections)
    var corruptTries: [Int: Int] = [:]
    var position = 0
    var isSuspicious = false
    // Side by side nothing could be begun.
    var goesAlone = false
    while !pieces.isComplete {
      if session.extents.isDamaged { pieces = try await session.open() }
      let admission = try path.admit()
      let (result, wasCut): (StagingSession.WriteResult, Bool)
      if connections.count > 1, !admission.isProbe, !isSuspicious, !goesAlone, canGoSideBySide {
        let several = try await fetchSideBySide(content, lacking: pieces, from: position, admission)
        (result, wasCut, goesAlone) = (several.written, true, !several.hasAsked)
        position = result.pieces.nextMissingRun(from: 0, maximumCount: 1)?.lowerBound ?? 0
      } else {
        goesAlone = false
        guard let choice = await nextRun(lackedBy: pieces, from: position) else {
          path.giveUp(admission)
          break
        }
        (result, wasCut) = try await fetch(
          content, choice, lacking: pieces, fresh: isSuspicious, admission)
        position = wasCut ? choice.run.lowerBound : choice.run.upperBound
      }
      pieces = result.pieces
      isSuspicious = !result.corrupt.isEmpty
      for piece in result.corrupt {
        corruptTries[piece, default: 0] += 1
        guard corruptTries[piece, default: 0] >= limits.corruptTries else { continue }
        throw StepFailure.retry(
          .integrity, cause: "piece \(piece) came damaged \(limits.corruptTries) times")
      }
      if result.isOutOfOrder {
        position = 0
        continue
      }
      // A response that ended properly and brought nothing would be asked for again forever.
      if result.verifiedCount == 0, result.corrupt.isEmpty, !wasCut {
        throw StepFailure.retry(
          .protocolViolation, cause: "an answer ended properly and brought no whole piece")
      }
    }
  }

  /// The content as it is asked for, and the number of its connections.
  struct Content: Sendable {
    let url: String
    let ticket: String
    let connections: TransferConnections
  }

  /// A run of missing pieces to be asked for.
  struct Choice {
    var run: Range<Int>
    /// The part of its first piece that an earlier connection received.
    var resumed: ReceivedPiece?
    /// Whether it is cut short where readers want other pieces.
    var isInterruptible = true
  }

  /// Nil when nothing is missing.
  private func nextRun(lackedBy pieces: PieceMap, from position: Int) async -> Choice? {
    let digest = session.manifest.digest
    path.partials.drop(of: digest) { pieces.isVerified($0) }
    let order = demand?.order ?? PieceOrder()
    guard !order.isEmpty else {
      let resumed = path.partials.remove(of: digest) { _ in true }
      return order.nextRun(in: pieces, from: resumed?.index ?? position).map { run in
        Choice(run: run, resumed: resumed)
      }
    }
    guard var run = order.nextRun(in: pieces, from: position) else { return nil }
    var isInterruptible = true
    if await !session.accepts(run.lowerBound), let first = pieces.nextMissingRun(from: 0, maximumCount: 8) {
      // What lies packed on the disk is inflated first, as far as so many pieces bring that.
      (run, isInterruptible) = (first, false)
    }
    let resumed = path.partials.remove(of: digest) { $0 == run.lowerBound }
    return Choice(run: run, resumed: resumed, isInterruptible: isInterruptible)
  }

  /// One request for a run of missing pieces. An error of the disk is thrown before one of the network.
  private func fetch(
    _ content: Content, _ choice: Choice, lacking known: PieceMap, fresh: Bool,
    _ admission: NetworkGate.Admission
  ) async throws -> (written: StagingSession.WriteResult, wasCut: Bool) {
    let queue = pieceQueue()
    let receiver = receiver(
      of: choice, lacking: known, queue: queue, content.connections, admission)
    async let writing = session.writePieces(
      queue, buffers: buffers, progress: progress, stop: { receiver.cancel() })
    content.connections.beginRequest(cut: { receiver.cut() })
    let failure = await stream(choice, to: receiver, content, fresh: fresh)
    content.connections.endRequest()
    progress.pace?.rest()
    let wasCut = receiver.wasCut && (failure?.code == .cancelled || failure?.code == .stopped)
    queue.close()
    let answer = wasCut ? nil : error(of: failure, receiver)
    let result: StagingSession.WriteResult
    do {
      result = try await writing
    } catch {
      note(answer, receiver, nil, to: admission)
      throw error
    }
    note(answer, receiver, result, to: admission)
    if answer?.asksForFewer == true { path.allowance.close(at: path.clock.now()) }
    if let error = result.failure { throw error }
    try Task.checkCancellation()
    if result.isOutOfOrder { return (result, wasCut) }
    if let answer { throw StepFailure(answer, from: .server) }
    if !receiver.isCertain, result.verifiedCount == 0, !wasCut {
      throw StepFailure.retry(
        .networkNotOpen, cause: "an answer without the package's tag brought nothing of it")
    }
    return (result, wasCut)
  }

  /// The pieces of one request, or of several side by side, on their way to the disk.
  func pieceQueue() -> PieceQueue {
    PieceQueue(of: session.manifest) { [progress, demand] in DiskRest.factor(of: progress, demand) }
  }

  /// Tells how a request ended. One that the disk ended says nothing, unless its answer does.
  ///
  /// - Parameter result: nil where nothing could be written.
  private func note(
    _ answer: APICallError?, _ receiver: PieceReceiver, _ result: StagingSession.WriteResult?,
    to admission: NetworkGate.Admission
  ) {
    let isCertain = receiver.isCertain || (result?.verifiedCount ?? 0) > 0
    let isEndedHere = result.map { $0.failure != nil || $0.isOutOfOrder } ?? true
    if answer == nil, !isCertain, isEndedHere { return path.giveUp(admission) }
    path.note(answer, isCertain: isCertain, to: admission)
  }

  private func asked(_ choice: Choice) -> Range<Int64> {
    let whole = session.manifest.layout.range(of: choice.run)
    return whole.lowerBound + Int64(choice.resumed?.bytes.count ?? 0)..<whole.upperBound
  }

  func receiver(
    of choice: Choice, lacking known: PieceMap, queue: PieceQueue, _ connections: TransferConnections,
    _ admission: NetworkGate.Admission, takesWhole: Bool = true
  ) -> PieceReceiver {
    PieceReceiver(
      asked: asked(choice), manifest: session.manifest, known: known, resumed: choice.resumed,
      buffers: buffers,
      queue: queue, progress: progress, connections: connections.mayWiden ? connections : nil,
      takesWhole: takesWhole,
      onCertainty: { [path] in path.noteAnswer(to: admission) })
  }

  /// The request of a choice to its end, while its readers may cut it short. What came of a piece that is not whole is kept.
  func stream(
    _ choice: Choice, to receiver: PieceReceiver, _ content: Content, fresh: Bool = false
  ) async -> HTTPClientError? {
    let run = choice.run
    var request = request(asked(choice), of: session.manifest, url: content.url, ticket: content.ticket)
    request.usesFreshConnection = fresh
    var failure: HTTPClientError?
    let began = path.clock.now()
    let number =
      choice.isInterruptible
      ? demand?.begin(run, piece: { receiver.piece ?? run.lowerBound }, cut: { receiver.cut() }) : nil
    do throws(HTTPClientError) {
      _ = try await client.stream(request, to: receiver)
    } catch {
      failure = error
    }
    if let number { demand?.endRun(number) }
    path.speeds.record(receiver.bytesReceived, in: path.clock.now() - began)
    if let rest = receiver.removeRest() { path.partials.keep(rest, of: session.manifest.digest) }
    return failure
  }

  /// One range, with `If-Range` (RFC 9110 section 13.1.5): other content comes whole then, and is refused. The lowest speed is that of the
  /// server: while the pace has the transfer paused it is not measured, and each pause begins the measure anew.
  private func request(
    _ asked: Range<Int64>, of manifest: Manifest, url: String, ticket: String
  ) -> ClientRequest {
    var request = path.request(
      url,
      headers: [
        ("Range", "bytes=\(asked.lowerBound)-\(asked.upperBound - 1)"),
        ("If-Range", RangeResponse.entityTagText(manifest.digest)),
        ("Authorization", "Bearer \(ticket)"),
      ])
    request.connectTimeout = limits.connectTimeout
    request.maximumReceiveSpeed = limits.maximumSpeed
    let cap = [limits.maximumSpeed, progress.pace?.smallestRate].compactMap { $0 }.min()
    request.lowSpeed = ClientRequest.LowSpeedLimit(
      bytesPerSecond: path.speeds.floor(under: cap), duration: limits.stallAfter)
    return request
  }

  /// Returns the error of a failed transfer as that of an API call; nil if all requested pieces came.
  func error(of failure: HTTPClientError?, _ receiver: PieceReceiver) -> APICallError? {
    guard let failure, failure.code != .stopped else { return nil }
    guard failure.code == .refused, let head = failure.head else { return .unreachable(failure) }
    switch receiver.verdict {
    case .mismatched:
      return .unexpectedResponse(
        status: 206, detail: "other content than was asked for, with status \(head.status)",
        retryAfter: head.retryAfter)
    case .foreign:
      return .unexpectedResponse(
        status: head.status, detail: String(decoding: failure.body.prefix(200), as: UTF8.self),
        retryAfter: head.retryAfter, isPage: true)
    case .refused, .accepted, .undecided:
      return APIClient.refusal(head: head, body: failure.body)
    }
  }
}
