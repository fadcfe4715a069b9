import ContentPackage
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Synchronization

/// Fetches the missing pieces of one package, range by range, and trusts each piece by its digest alone. What
/// was verified stays, however this ends.
struct PieceTransfer: Sendable {
  struct Limits: Sendable {
    /// A piece that came damaged so often fails the download.
    var corruptTries = 5
    /// A transfer slower than one byte a second for so long has stalled. Whole seconds.
    var stallAfter: Duration = .seconds(30)
    var connectTimeout: Duration = .seconds(10)
    /// A second; nil is no cap.
    var maximumSpeed: ByteCount?
  }

  let client: HTTPClient
  let session: StagingSession
  let buffers: BufferPool
  let progress: TransferProgress
  let limits: Limits

  /// Returns when every piece is written; throws ``StepFailure``, or `CancellationError` once the task is
  /// cancelled. `url` is absolute.
  func run(url: String, ticket: String) async throws {
    var pieces = try await session.open()
    progress.setVerified(pieces.bytesVerified)
    var corruptTries: [Int: Int] = [:]
    var position = 0
    while !pieces.isComplete {
      guard let run = pieces.nextMissingRun(from: position) ?? pieces.nextMissingRun(from: 0) else { break }
      position = run.upperBound
      let result = try await fetch(run, lacking: pieces, url: url, ticket: ticket)
      pieces = result.pieces
      for piece in result.corrupt {
        corruptTries[piece, default: 0] += 1
        if corruptTries[piece, default: 0] >= limits.corruptTries { throw StepFailure.permanent(.integrity) }
      }
      // A response that ended properly and brought nothing would be asked for again forever.
      if result.verifiedCount == 0, result.corrupt.isEmpty { throw StepFailure.retry(.protocolViolation) }
    }
  }

  /// One request for a run of missing pieces.
  private func fetch(
    _ run: Range<Int>, lacking known: PieceMap, url: String, ticket: String
  ) async throws -> StagingSession.WriteResult {
    let manifest = session.manifest
    let asked = manifest.layout.range(of: run)
    let queue = PieceQueue()
    let receiver = PieceReceiver(
      asked: asked, manifest: manifest, known: known, buffers: buffers, queue: queue, progress: progress)
    async let writing = session.writePieces(
      queue, buffers: buffers, progress: progress, stop: { receiver.cancel() })
    var failure: HTTPClientError?
    do throws(HTTPClientError) {
      _ = try await client.stream(request(asked, of: manifest, url: url, ticket: ticket), to: receiver)
    } catch {
      failure = error
    }
    receiver.abandonRest()
    queue.close()
    let result = try await writing
    if let error = result.failure { throw error }
    try Task.checkCancellation()
    if let failure, failure.code != .stopped { throw stepFailure(for: failure, verdict: receiver.verdict) }
    return result
  }

  private func request(
    _ asked: Range<Int64>, of manifest: Manifest, url: String, ticket: String
  ) -> ClientRequest {
    var request = ClientRequest(
      method: "GET", url: url,
      headers: [
        ("Range", "bytes=\(asked.lowerBound)-\(asked.upperBound - 1)"),
        ("If-Range", RangeResponse.entityTagText(manifest.digest)),
        ("Authorization", "Bearer \(ticket)"),
      ])
    request.connectTimeout = limits.connectTimeout
    request.maximumReceiveSpeed = limits.maximumSpeed
    request.lowSpeed = ClientRequest.LowSpeedLimit(
      bytesPerSecond: ByteCount(1), duration: limits.stallAfter)
    return request
  }

  private func stepFailure(for error: HTTPClientError, verdict: PieceReceiver.Verdict) -> StepFailure {
    guard error.code == .refused, let head = error.head else { return StepFailure(error, from: .server) }
    if verdict == .mismatched { return .retry(.protocolViolation, notBefore: head.retryAfter) }
    return StepFailure(APIClient.refusal(head: head, body: error.body), from: .server)
  }
}

/// What a running transfer has moved so far; written by its threads, read by the manager.
final class TransferProgress: Sendable {
  private let received: Atomic<Int64>
  private let verified: Atomic<Int64>

  init(received: ByteCount, verified: ByteCount) {
    self.received = Atomic(received.rawValue)
    self.verified = Atomic(verified.rawValue)
  }

  /// Received over the network; a byte that was received twice counts twice.
  var bytesReceived: ByteCount { ByteCount(received.load(ordering: .relaxed)) }
  /// The bytes of the pieces that are verified and written.
  var bytesVerified: ByteCount { ByteCount(verified.load(ordering: .relaxed)) }

  func addReceived(_ count: Int) {
    received.add(Int64(count), ordering: .relaxed)
  }

  func setVerified(_ count: ByteCount) {
    verified.store(count.rawValue, ordering: .relaxed)
  }
}
