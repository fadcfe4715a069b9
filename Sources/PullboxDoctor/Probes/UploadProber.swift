import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Synchronization
import SystemCalls

/// Tries uploads (tus 1.0.0): one whose body passes, and one whose connection breaks within the body. All are
/// removed. While the server keeps nothing of a broken body, the next is given a longer pause; three are
/// broken at most.
struct UploadProber: Sendable {
  private static let path = "/v1/operator/uploads"
  /// Bytes of every body.
  private static let length: Int64 = 4 << 20
  /// Bytes after which the connection is broken.
  private static let breakAfter: Int64 = 2 << 20
  /// The field that every request of tus 1.0.0 has.
  private static let version = ("Tus-Resumable", "1.0.0")
  /// How long a server has, for one broken body after the other, before it is asked what it has of it. The question
  /// ends a request that is still being read, and all that had not been read of it is lost.
  private static let pauses: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5)]

  private let api: APIClient
  private let client: HTTPClient
  private let timer: any MonotonicClock

  init(
    url: String, key: String, client: HTTPClient, trust: ServerTrust?, unixSocketPath: String?,
    timer: any MonotonicClock
  ) {
    var api = APIClient(
      baseURL: url, credential: key, client: client, unixSocketPath: unixSocketPath)
    api.trust = trust
    self.api = api
    self.client = client
    self.timer = timer
  }

  /// Sends one request after the other. No body is broken where a whole one did not pass.
  func observe() async -> UploadObservation {
    let (creation, whole) = await create()
    guard let whole else { return UploadObservation(creation: creation) }
    var observation = UploadObservation(creation: creation)
    observation.body = await step { () async throws(APICallError) in
      try await api.exchange(
        "PATCH", whole, bytes: DiagnosticContent.bytes(in: 0..<Self.length),
        mediaType: "application/offset+octet-stream", headers: [Self.version, ("Upload-Offset", "0")]
      ).status
    }
    await remove(whole)
    guard observation.body?.status == 204 else { return observation }
    for (number, pause) in Self.pauses.enumerated() {
      guard let broken = await create().address else { break }
      let kept = try? await keptOfBroken(broken, after: pause)
      await remove(broken)
      // That the server has nothing counts only after the longest pause.
      if kept != 0 || number == Self.pauses.count - 1 { observation.keptOfBroken = kept }
      guard kept == 0 else { break }
    }
    return observation
  }

  /// The address is nil where nothing was begun. It is always one of this server's, whatever `Location` says,
  /// since the key goes there.
  private func create() async -> (step: UploadObservation.Step, address: String?) {
    do {
      let response = try await api.exchange(
        "POST", Self.path, bytes: [], mediaType: "application/offset+octet-stream",
        headers: [Self.version, ("Upload-Length", String(Self.length))])
      let location = response.headers["Location"].map { api.url($0) }
      // The key goes to this server only.
      let isOwn = location?.hasPrefix(api.baseURL + "/") == true
      return (
        UploadObservation.Step(
          status: response.status, isProblem: false, message: "status \(response.status)"),
        isOwn ? location : location.map { api.url(Self.path + "/" + ($0.split(separator: "/").last ?? "")) }
      )
    } catch {
      return (Self.step(error), nil)
    }
  }

  /// Sends one request, and says how it was answered: `send` returns the status.
  private func step(_ send: () async throws(APICallError) -> Int) async -> UploadObservation.Step {
    do {
      let status = try await send()
      return UploadObservation.Step(status: status, isProblem: false, message: "status \(status)")
    } catch {
      return Self.step(error)
    }
  }

  /// Only a problem document is the server's own refusal.
  private static func step(_ error: APICallError) -> UploadObservation.Step {
    switch error {
    case .problem(let problem):
      UploadObservation.Step(status: problem.status, isProblem: true, message: problem.description)
    case .unreachable(let cause):
      UploadObservation.Step(status: nil, isProblem: false, message: cause.message)
    case .unexpectedResponse(let status, _, _, _):
      UploadObservation.Step(
        status: status == 0 ? nil : status, isProblem: false,
        message: "status \(status) without a problem document")
    }
  }

  /// A failure is passed over.
  private func remove(_ upload: String) async {
    // What stays expires by itself.
    _ = try? await api.exchange("DELETE", upload, headers: [Self.version])
  }

  /// Bytes that the server has this long after the connection broke; nil if it did not break. 0 also where
  /// the server names no offset. The body comes from a file, so that the client tells how much of it was
  /// sent.
  private func keptOfBroken(_ upload: String, after pause: Duration) async throws -> Int64? {
    let file = try await BlockingPool.shared.run { try Self.temporaryFile() }
    let receiver = BreakingReceiver()
    var request = api.request(
      "PATCH", upload,
      headers: [Self.version, ("Upload-Offset", "0"), ("Content-Type", "application/offset+octet-stream")])
    request.usesFreshConnection = true
    request.totalTimeout = .seconds(60)
    request.body = .file(
      file, 0..<Self.length,
      progress: { count in if count.rawValue >= Self.breakAfter { receiver.breakConnection() } })
    do {
      _ = try await client.stream(request, to: receiver)
      // It was faster than its end.
      return nil
    } catch {
      guard error.code == .cancelled else { return nil }
    }
    try await timer.sleep(for: pause)
    let response = try await api.exchange("HEAD", upload, headers: [Self.version])
    return response.headers["Upload-Offset"].flatMap(Int64.init) ?? 0
  }

  /// A file without a name that holds the body. Blocks. The name is removed once the file is open.
  private static func temporaryFile() throws -> UploadFile {
    let path = "/tmp/pullbox-doctor-\(RandomBytes.token(bits: 64))"
    let bytes = DiagnosticContent.bytes(in: 0..<length)
    try DurableFile.write(bytes.span, to: path, permissions: 0o600, ifPresent: .refuse)
    defer { _ = try? FileSystem.removeFile(path) }
    return try UploadFile(path: path)
  }
}

/// Breaks its transfer when it is told to.
private final class BreakingReceiver: TransferReceiver {
  private let handle = Mutex<TransferHandle?>(nil)

  func start(_ handle: TransferHandle) {
    self.handle.locked { $0 = handle }
  }

  /// May be called more than once, from any thread.
  func breakConnection() {
    handle.locked { $0 }?.cancel()
  }

  func receive(head: ResponseHead) -> HeadDecision { .accept }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision { .consumed }
}
