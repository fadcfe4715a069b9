import AgentRecords
import ContentPackage
package import CoreTypes
package import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Synchronization

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
    /// A second; nil is no cap.
    package var maximumSpeed: ByteCount?

    package init(
      corruptTries: Int = 5, stallAfter: Duration = SpeedHistory.stallAfter,
      connectTimeout: Duration = .seconds(10), maximumSpeed: ByteCount? = nil
    ) {
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
  /// connection of its own.
  package func run(url: String, ticket: String) async throws {
    try path.checkScheme(of: url)
    var pieces = try await session.open()
    progress.setVerified(pieces.bytesVerified)
    var corruptTries: [Int: Int] = [:]
    var position = 0
    var isSuspicious = false
    while !pieces.isComplete {
      let isProbe = try path.admit()
      if session.extents.isDamaged { pieces = try await session.open() }
      guard let choice = await nextRun(lackedBy: pieces, from: position) else { break }
      position = choice.run.upperBound
      let (result, wasCut) = try await fetch(
        choice, lacking: pieces, fresh: isSuspicious, probing: isProbe, url: url, ticket: ticket)
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

  /// A run of missing pieces to be asked for.
  private struct Choice {
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
    _ choice: Choice, lacking known: PieceMap, fresh: Bool, probing: Bool, url: String, ticket: String
  ) async throws -> (written: StagingSession.WriteResult, wasCut: Bool) {
    let manifest = session.manifest
    let (run, resumed) = (choice.run, choice.resumed)
    let whole = manifest.layout.range(of: run)
    let asked = whole.lowerBound + Int64(resumed?.bytes.count ?? 0)..<whole.upperBound
    let queue = PieceQueue(of: manifest)
    let receiver = PieceReceiver(
      asked: asked, manifest: manifest, known: known, resumed: resumed, buffers: buffers, queue: queue,
      progress: progress, onCertainty: { [path] in path.noteAnswer() })
    async let writing = session.writePieces(
      queue, buffers: buffers, progress: progress, stop: { receiver.cancel() })
    var request = request(asked, of: manifest, url: url, ticket: ticket)
    request.usesFreshConnection = fresh
    var failure: HTTPClientError?
    let began = path.clock.now()
    let before = progress.bytesReceived
    if choice.isInterruptible {
      demand?.begin(run, piece: { receiver.piece ?? run.lowerBound }, cut: { receiver.cut() })
    }
    do throws(HTTPClientError) {
      _ = try await client.stream(request, to: receiver)
    } catch {
      failure = error
    }
    progress.pace?.rest()
    demand?.endRun()
    let wasCut = receiver.wasCut && (failure?.code == .cancelled || failure?.code == .stopped)
    path.speeds.record(progress.bytesReceived - before, in: path.clock.now() - began)
    if let rest = receiver.removeRest() { path.partials.keep(rest, of: manifest.digest) }
    queue.close()
    let result = try await writing
    let answer = wasCut ? nil : error(of: failure, receiver)
    path.note(answer, isCertain: receiver.isCertain || result.verifiedCount > 0, wasProbe: probing)
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
  private func error(of failure: HTTPClientError?, _ receiver: PieceReceiver) -> APICallError? {
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

/// The bytes that a running transfer has moved so far; written by its threads, read by the manager.
package final class TransferProgress: Sendable {
  private let received: Atomic<Int64>
  private let verified: Atomic<Int64>
  /// Less than zero until it is known.
  private let reused: Atomic<Int64>
  /// Its part of the rate and of the budget; nil where nothing bounds it.
  package let pace: TransferPace?

  /// The counts go on from those of the job's record; `reused` is nil where the library was not looked at
  /// yet.
  package init(
    received: ByteCount, verified: ByteCount, reused: ByteCount? = nil, pace: TransferPace? = nil
  ) {
    self.pace = pace
    self.received = Atomic(received.rawValue)
    self.reused = Atomic(reused?.rawValue ?? -1)
    self.verified = Atomic(verified.rawValue)
  }

  /// Received over the network; a byte that was received twice counts twice.
  package var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
  /// The bytes of the pieces that are verified and written.
  package var bytesVerified: ByteCount { ByteCount(verified.load(ordering: .relaxed)) }

  /// Bytes of the package that the library had; nil until that was looked at.
  package var bytesReused: ByteCount? {
    let count = reused.load(ordering: .relaxed)
    return count < 0 ? nil : ByteCount(count)
  }

  /// Takes the place of the count before; from then on it is known.
  package func setReused(_ count: ByteCount) {
    reused.store(count.rawValue, ordering: .relaxed)
  }

  func addReceived(_ count: Int) {
    received.add(Int64(count), ordering: .relaxed)
  }

  /// Takes the place of the count before.
  package func setVerified(_ count: ByteCount) {
    verified.store(count.rawValue, ordering: .relaxed)
  }
}
