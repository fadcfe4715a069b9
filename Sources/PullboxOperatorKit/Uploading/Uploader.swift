public import CoreTypes
public import Crypto
import HTTPClient
public import PullboxAPIClient
import ServiceRuntime
import SystemCalls

/// Sends a package to a delivery server by tus 1.0.0, and resumes where it stood after the connection, the
/// server or this process has failed.
///
/// ``UploadMachine`` decides what follows each answer, ``TusClient`` makes the requests, and
/// ``UploadResumeFile`` remembers across processes where an upload went.
///
/// ```swift
/// let uploader = client.uploader(resumeFile: UploadResumeFile(path: path))
/// let upload = try await uploader.upload(package) { progress in print(progress.sent, progress.total) }
/// // … once the upload is a version:
/// await uploader.forget(package)
/// ```
public struct Uploader: Sendable {
  /// The longest package that is sent with a checksum for the request.
  static let maximumCheckedLength = ByteCount.mebibytes(1)

  let server: TusClient
  let resumeFile: UploadResumeFile?
  /// The delays after failures in a row; a `Retry-After` of the server replaces them.
  public var backoff = Backoff(initial: .milliseconds(250), cap: .seconds(15))
  /// Failures in a row, without progress between them, before it gives up: about three minutes of waiting.
  public var maximumFailures = 20
  /// Bytes sent in one request; nil sends all that is left. For proxies that bound a request's length.
  public var partLength: ByteCount?
  /// Measures the delays.
  public var clock: any MonotonicClock = SystemMonotonicClock()
  /// Where the jitter of the delays comes from; each upload begins with a copy of it.
  public var generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()

  init(server: TusClient, resumeFile: UploadResumeFile?) {
    self.server = server
    self.resumeFile = resumeFile
  }

  /// Sends what the server does not have yet, and returns the upload's identifier. `progress` is called from
  /// several threads, one at a time, and must not block.
  ///
  /// Throws `APICallError` when the server refuses or does not come back, `SystemError` when the file cannot
  /// be opened, and `CancellationError`.
  public func upload(
    _ source: UploadSource, progress: @escaping @Sendable (UploadProgress) -> Void = { _ in }
  ) async throws -> String {
    let file = try await BlockingPool.shared.run { () throws(SystemError) in
      try UploadFile(path: source.path)
    }
    var machine = UploadMachine(
      length: source.length.rawValue, url: await rememberedURL(of: source),
      partLength: partLength?.rawValue ?? .max, backoff: backoff, maximumFailures: maximumFailures,
      generator: generator)
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
        event = await send(range, of: source, in: file, to: url, resumedAt: resumed, progress: progress)
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
    progress: @escaping @Sendable (UploadProgress) -> Void
  ) async -> UploadMachine.Event {
    let total = source.length
    // The package's own digest is known. What fails its checksum is sent again whole, like what a lost
    // connection cut off: for a longer package that would cost more than it finds, and the server checks
    // every digest in the end.
    let isWhole = range == 0..<total.rawValue && total <= Self.maximumCheckedLength
    return await Self.event { () async throws(APICallError) in
      .sent(
        upTo: try await server.send(range, of: file, checksum: isWhole ? source.digest : nil, to: url) {
          count in
          progress(
            UploadProgress(
              activity: .sending, sent: ByteCount(range.lowerBound) + count, total: total,
              resumedAt: resumedAt))
        })
    }
  }

  /// Drops what the resume file remembers of the upload; call it once the upload is a version. A failure is
  /// ignored.
  public func forget(_ source: UploadSource) async {
    guard let resumeFile else { return }
    let (server, digest) = (server.name, source.digest)
    // A left-over entry costs one request the next time.
    try? await BlockingPool.shared.run { try resumeFile.forget(server: server, digest: digest) }
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
    guard let resumeFile else { return nil }
    let name = server.name
    // A resume file that cannot be read only costs the time it would have saved.
    return try? await BlockingPool.shared.run { () throws(SystemError) in
      try resumeFile.find(server: name, digest: source.digest, length: source.length)
    }
  }

  private func remember(_ url: String, of source: UploadSource) async {
    guard let resumeFile else { return }
    let name = server.name
    // The upload itself does not depend on it either.
    try? await BlockingPool.shared.run {
      try resumeFile.remember(url, server: name, digest: source.digest, length: source.length)
    }
  }
}

/// A finished package that is to be sent.
public struct UploadSource: Hashable, Sendable {
  /// The package's file.
  public var path: String
  /// Bytes of the file.
  public var length: ByteCount
  /// Computed by packing; an interrupted upload is found again by it.
  public var digest: SHA256Digest
  /// Sent as the upload's `filename`, which the server's list of uploads shows.
  public var name: String

  /// Touches no file yet.
  public init(path: String, length: ByteCount, digest: SHA256Digest, name: String) {
    self.path = path
    self.length = length
    self.digest = digest
    self.name = name
  }
}

/// How an upload stands.
public struct UploadProgress: Sendable {
  /// The uploader's present activity.
  public enum Activity: Sendable {
    /// Asking where the upload stands, or beginning one.
    case asking
    /// Sending the package.
    case sending
    /// The connection or the server is gone; it is tried again after `retryIn`.
    case waiting(APICallError, retryIn: Duration)
  }

  /// The uploader's present activity.
  public var activity: Activity
  /// Bytes at the server, as far as is known; goes back when a connection was lost with bytes under way.
  public var sent: ByteCount
  /// Bytes of the package.
  public var total: ByteCount
  /// Where this run found the upload: more than zero when an earlier one had begun it.
  public var resumedAt: ByteCount
}
