public import CoreTypes
public import Crypto
import HTTPClient
public import PullboxAPIClient
public import ServiceRuntime
import SystemCalls

/// Sends a package to a delivery server by tus 1.0.0, and goes on where it stood after whatever broke it off: the
/// connection, the server, this process.
public struct Uploader: Sendable {
  /// The longest package that is sent with a checksum for the request.
  static let maximumCheckedLength = ByteCount.mebibytes(1)

  let server: TusClient
  let ledger: UploadResumeFile?
  public var backoff = Backoff(initial: .milliseconds(250), cap: .seconds(15))
  /// Failures in a row, without progress between them, before it gives up: about four minutes of waiting.
  public var maximumFailures = 20
  /// Bytes sent in one request; nil sends all that is left. For proxies that bound a request's length.
  public var partLength: ByteCount?
  public var clock: any MonotonicClock = SystemMonotonicClock()

  init(server: TusClient, ledger: UploadResumeFile?) {
    self.server = server
    self.ledger = ledger
  }

  /// Sends what the server does not have yet; answers the upload's identifier. `progress` is called from several threads,
  /// one at a time, and must not block.
  ///
  /// Throws `APICallError` when the server refuses, or does not come back; `SystemError` when the file cannot be opened.
  public func upload(
    _ source: UploadSource, progress: @escaping @Sendable (UploadProgress) -> Void = { _ in }
  ) async throws -> String {
    let file = try await BlockingPool.shared.run { () throws(SystemError) in
      try UploadFile(path: source.path)
    }
    var machine = UploadMachine(
      length: source.length.rawValue, url: await rememberedURL(of: source),
      partLength: partLength?.rawValue ?? .max, backoff: backoff, maximumFailures: maximumFailures)
    var resumedAt: ByteCount?
    func report(_ activity: UploadProgress.Activity, at offset: Int64) {
      progress(
        UploadProgress(
          activity: activity, sent: ByteCount(offset), total: source.length, resumedAt: resumedAt ?? .zero))
    }
    var event = UploadMachine.Event.begun
    while true {
      switch machine.handle(event) {
      case .create:
        report(.asking, at: 0)
        event = await Self.event { () async throws(APICallError) in
          .created(url: try await server.create(length: source.length, name: source.name))
        }
        if case .created(let url) = event { await remember(url, of: source) }
      case .ask(let url):
        report(.asking, at: machine.offset)
        event = await Self.event { () async throws(APICallError) in
          let status = try await server.status(of: url)
          return .stands(at: status.offset, length: status.length)
        }
      case .send(let url, let range):
        let resumed = resumedAt ?? ByteCount(range.lowerBound)
        resumedAt = resumed
        report(.sending, at: range.lowerBound)
        event = await send(range, of: source, in: file, to: url, resumedAt: resumed, progress)
      case .wait(let delay, let error):
        report(.waiting(error, retryIn: delay), at: machine.offset)
        try await clock.sleep(for: delay)
        event = .waited
      case .done(let url):
        report(.sending, at: source.length.rawValue)
        return TusClient.identifier(of: url)
      case .fail(let error):
        try Task.checkCancellation()
        throw error
      }
      try Task.checkCancellation()
    }
  }

  private func send(
    _ range: Range<Int64>, of source: UploadSource, in file: UploadFile, to url: String, resumedAt: ByteCount,
    _ progress: @escaping @Sendable (UploadProgress) -> Void
  ) async -> UploadMachine.Event {
    let total = source.length
    // The package's own digest is known. What fails its checksum is sent again whole, as is what a cut ended: of a longer
    // package that would cost more than it finds, and the server checks every digest in the end.
    let isWhole = range == 0..<total.rawValue && total <= Self.maximumCheckedLength
    return await Self.event { () async throws(APICallError) in
      .sent(
        upTo: try await server.send(file, range, checksum: isWhole ? source.digest : nil, to: url) { count in
          progress(
            UploadProgress(
              activity: .sending, sent: ByteCount(range.lowerBound) + count, total: total,
              resumedAt: resumedAt))
        })
    }
  }

  /// To be called when the upload was made a version: it is not needed any more.
  public func forget(_ source: UploadSource) async {
    guard let ledger else { return }
    let (server, digest) = (server.name, source.digest)
    // A left-over entry costs one request the next time.
    try? await BlockingPool.shared.run { try ledger.forget(server: server, digest: digest) }
  }

  private static func event(
    _ body: () async throws(APICallError) -> UploadMachine.Event
  ) async -> UploadMachine.Event {
    do {
      return try await body()
    } catch {
      return .failed(error)
    }
  }

  private func rememberedURL(of source: UploadSource) async -> String? {
    guard let ledger else { return nil }
    let name = server.name
    // A ledger that cannot be read only costs the time it would have saved.
    return try? await BlockingPool.shared.run { () throws(SystemError) in
      try ledger.find(server: name, digest: source.digest, length: source.length)
    }
  }

  private func remember(_ url: String, of source: UploadSource) async {
    guard let ledger else { return }
    let name = server.name
    // As above: the upload itself does not depend on it.
    try? await BlockingPool.shared.run {
      try ledger.remember(url, server: name, digest: source.digest, length: source.length)
    }
  }
}

/// A finished package that is to be sent.
public struct UploadSource: Hashable, Sendable {
  public var path: String
  public var length: ByteCount
  /// As packing computed it; the name under which an upload that was broken off is found again.
  public var digest: SHA256Digest
  /// Sent as the upload's `filename`, for whoever looks at the server's list.
  public var name: String

  public init(path: String, length: ByteCount, digest: SHA256Digest, name: String) {
    self.path = path
    self.length = length
    self.digest = digest
    self.name = name
  }
}

/// How an upload stands.
public struct UploadProgress: Sendable {
  public enum Activity: Sendable {
    /// Asking where the upload stands, or beginning one.
    case asking
    case sending
    /// The connection or the server is gone; it is tried again after `retryIn`.
    case waiting(APICallError, retryIn: Duration)
  }

  public var activity: Activity
  /// At the server, as far as is known; goes back when a connection broke with bytes under way.
  public var sent: ByteCount
  public var total: ByteCount
  /// Where this run found the upload: more than zero when an earlier one had begun it.
  public var resumedAt: ByteCount
}
