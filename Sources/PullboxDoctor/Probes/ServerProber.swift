public import CoreTypes
public import HTTPClient
import PullboxAPI
import ServiceAPI

/// Asks a delivery server, through whatever lies before it, all that ``ServerDiagnosis`` judges. What one probe finds decides
/// whether the next are sent: nothing is asked of what is not a Pullbox server, and no long body through a proxy that would
/// fetch all of it.
///
/// ```swift
/// let prober = ServerProber(url: "https://pull.example", client: try HTTPClient())
/// let findings = ServerDiagnosis.findings(await prober.observe())
/// ```
public struct ServerProber: Sendable {
  /// The options of an examination.
  public struct Options: Sendable {
    /// Whether bodies of 1 GiB and of 2 GiB are fetched as well.
    public var isDeep = false
    /// How long a body rests: 1 to 180 whole seconds.
    public var pause = Duration.seconds(5)
    /// With one, uploads are tried, all of 4 MiB: one that passes, and up to three that break. All are
    /// removed.
    public var operatorKey: String?
    /// PEM file of the authorities that count in place of the system's.
    public var certificateAuthorityFile: String?
    /// How long a body of ``isDeep`` is read slowly: until a GiB has been gathered, and then two of the minutes after which
    /// pullbox-server gives up a client that takes nothing.
    var slowness = Duration.seconds(150)
    /// Bytes of that body.
    var slowLength = ServerProbe.slowLength
    /// How long a probe waits while nothing comes.
    var patience = Duration.seconds(10)
    /// How long it takes to ask all that is neither of ``isDeep`` nor an upload, besides the rest of ``pause``; probes that come later are not sent.
    var limit = Duration.seconds(60)
    /// The probes that are sent, for tests.
    var probes = ServerProbe.allCases
    /// Connects there instead of to the address's host, for tests.
    var unixSocketPath: String?

    /// The short examination, without an operator key.
    public init() {}
  }

  /// The bytes a second that a slow reader takes from a body: more than a server asks of a client.
  private static let slowBytesPerSecond: Int64 = 64 << 10

  private let url: String
  private let client: HTTPClient
  private let options: Options
  private let clock: any WallClock
  private let timer: any MonotonicClock

  /// `url` is the server's address as agents have it; a slash at its end does not count.
  public init(
    url: String, client: HTTPClient, options: Options = Options(), clock: any WallClock = SystemWallClock(),
    timer: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.client = client
    self.options = options
    self.clock = clock
    self.timer = timer
  }

  /// Sends the probes one after the other. What fails is an observation as well; a cancelled task ends early.
  /// Never throws. The order is that of ``ServerProbe``; a probe whose ground was not answered rightly is
  /// left out without a word, one for which the time is over is in ``ServerObservations/unasked``.
  public func observe() async -> ServerObservations {
    var seen = ServerObservations(url: url, pause: options.pause)
    seen.slowLength = options.slowLength
    let end = timer.now() + options.limit + options.pause
    for probe in options.probes where options.isDeep || !probe.isDeep {
      guard !Task.isCancelled, seen.isWorthAsking(probe) else { continue }
      guard probe.isDeep || timer.now() < end else {
        seen.unasked.append(probe)
        continue
      }
      seen[probe] = await answer(to: probe)
    }
    if let key = options.operatorKey, seen.report != nil, !Task.isCancelled {
      let prober = UploadProber(
        url: url, key: key, client: client, trust: trust, unixSocketPath: options.unixSocketPath, timer: timer
      )
      seen.upload = await prober.observe()
    }
    return seen
  }

  /// Nil for the system's authorities.
  private var trust: ServerTrust? {
    options.certificateAuthorityFile.map { ServerTrust(certificateAuthorityFile: $0) }
  }

  /// The first probe makes a connection of its own, of which times and certificate are told. A probe that is
  /// neither deep nor rests ends after a minute.
  private func request(for probe: ServerProbe) -> ClientRequest {
    var request = ClientRequest(
      method: probe.method, url: url + target(of: probe), headers: probe.fields)
    request.trust = trust
    request.unixSocketPath = options.unixSocketPath
    // What one probe does to a connection must not be taken for the next one's.
    request.usesFreshConnection = probe == .report
    request.describesCertificate = probe == .report
    request.totalTimeout = probe.isDeep ? nil : .seconds(60)
    request.lowSpeed = ClientRequest.LowSpeedLimit(bytesPerSecond: ByteCount(1), duration: options.patience)
    if probe == .paused {
      request.totalTimeout = options.pause + options.patience
      request.lowSpeed = nil
    }
    // At first it takes less than what is sent.
    if probe == .slowBody {
      request.lowSpeed = ClientRequest.LowSpeedLimit(bytesPerSecond: ByteCount(1), duration: .seconds(60))
    }
    return request
  }

  /// The target of the probe with the lengths that the options name.
  private func target(of probe: ServerProbe) -> String {
    guard probe == .slowBody else { return probe.target(pause: options.pause) }
    return "\(DiagnosticContent.path)?length=\(options.slowLength)"
  }

  private func answer(to probe: ServerProbe) async -> ProbeAnswer {
    let isSlow = probe == .slowBody
    let receiver = ProbeReceiver(
      limit: isSlow ? ByteCount(options.slowLength) : probe.limit,
      allowance: isSlow ? Self.slowBytesPerSecond : .max, timer: timer)
    let (began, start) = (clock.now(), timer.now())
    let request = request(for: probe)
    let result: Result<TransferSummary, HTTPClientError>
    if isSlow {
      result = await slowly(request, to: receiver)
    } else {
      result = await Result { () async throws(HTTPClientError) in
        try await client.stream(request, to: receiver)
      }
    }
    return Self.answer(
      result, received: receiver.received, began: began, start: start, end: timer.now())
  }

  /// Raises what may come each second, and at the end to all there is.
  private func slowly(
    _ request: ClientRequest, to receiver: ProbeReceiver
  ) async -> Result<TransferSummary, HTTPClientError> {
    async let result = Result { () async throws(HTTPClientError) in
      try await client.stream(request, to: receiver)
    }
    for _ in 0..<max(0, options.slowness.components.seconds) {
      do {
        try await timer.sleep(for: .seconds(1))
      } catch {
        break
      }
      receiver.raise(by: Self.slowBytesPerSecond)
    }
    receiver.raise(by: .max)
    return await result
  }

  /// A transfer that the receiver has stopped has no failure, and no connection to tell of.
  private static func answer(
    _ result: Result<TransferSummary, HTTPClientError>, received: ProbeReceiver.Received, began: Timestamp,
    start: MonotonicInstant, end: MonotonicInstant
  ) -> ProbeAnswer {
    var answer = ProbeAnswer(
      head: received.head, length: received.length, isRight: received.firstWrongByte == nil,
      firstWrongByte: received.firstWrongByte, beginning: received.beginning,
      began: began, duration: end - start, firstByte: received.firstByte.map { $0 - start })
    switch result {
    case .success(let summary): answer.connection = summary.connection
    case .failure(let error) where !received.isStopped:
      answer.failure = ProbeAnswer.Failure(
        error.code, error.message, wasConnected: error.wasConnected)
    case .failure: break
    }
    return answer
  }
}

extension ServerObservations {
  /// Whether what the probe rests on was answered rightly.
  func isWorthAsking(_ probe: ServerProbe) -> Bool {
    // Without its query, a request asks for something else.
    let passesQuery = dressedReport?.parameters.contains("ticket") ?? true
    guard passesQuery || !probe.target(pause: pause).contains("?") else { return false }
    return probe.needs.allSatisfy { need in
      switch need {
      case .report: report != nil
      case .range: isRangeRight(.range) && arrived("range")
      default: self[need]?.status == 200 && self[need]?.failure == nil && self[need]?.isRight == true
      }
    }
  }
}

extension Result where Failure == HTTPClientError, Success == TransferSummary {
  fileprivate init(_ body: () async throws(HTTPClientError) -> TransferSummary) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
