import CoreTypes
import HTTPClient
import PullboxAPI
public import ServiceAPI

/// All that was seen of a delivery server, through whatever lies before it.
public struct ServerObservations: Sendable {
  /// The address that was asked, without a slash at its end.
  public var url: String
  /// The answer to each probe; probes that were not sent are missing.
  public var answers: [ServerProbe: ProbeAnswer] = [:]
  /// Probes that were not sent, since the time for all was over.
  public var unasked: [ServerProbe] = []
  /// How long the body of ``ServerProbe/paused`` rested.
  public var pause: Duration
  /// Bytes of the body of ``ServerProbe/slowBody``.
  var slowLength = ServerProbe.slowLength
  /// Nil if no operator key was given, or the server did not answer before.
  public var upload: UploadObservation?

  /// Observations of nothing yet.
  public init(url: String, pause: Duration) {
    self.url = url
    self.pause = pause
  }

  /// The answer to a probe.
  public subscript(_ probe: ServerProbe) -> ProbeAnswer? {
    get { answers[probe] }
    set { answers[probe] = newValue }
  }

  /// The server's report of the plain request; nil without one.
  public var report: DiagnosticReport? { self[.report]?.report }

  /// The server's report of the request with all fields that agents send; nil without one.
  var dressedReport: DiagnosticReport? { self[.dressedReport]?.report }

  /// Whether a field that agents send reached the server. True also where the request with those fields was
  /// not answered by a report, so that no fault is found in what is not known.
  func arrived(_ field: String) -> Bool { dressedReport?.fields.contains(field) ?? true }

  /// Whether a cache answers in the server's place: it asks for the whole, without range and condition.
  var isCached: Bool { !arrived("range") && !arrived("if-none-match") }

  /// The proxy that the responses name. Nil where no response names one. Where responses name several it is
  /// any of them.
  public var proxy: Proxy? {
    answers.values.lazy.compactMap { Proxy(server: $0.field("Server"), via: $0.field("Via")) }.first
  }

  /// Whether the address is https.
  var isSecure: Bool { url.lowercased().hasPrefix("https:") }

  /// Host and port of the address, in lower case.
  var authority: String { Self.authority(of: url) }

  /// Empty for a text without a colon; it is not checked whether the rest is a URL.
  static func authority(of url: String) -> String {
    guard let start = url.firstIndex(of: ":") else { return "" }
    return url[start...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
  }

  /// Whether the address is this machine's own. A host that the name service leads to this machine is not
  /// among them.
  var isLoopback: Bool {
    ["127.0.0.1", "localhost", "[::1]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
  }

  /// Whether an answer to one of the probes for a range is what the server would have sent. It must be a
  /// whole 206 (RFC 9110 section 15.3.7) with the bytes, their number and the `Content-Range` that were asked
  /// for.
  func isRangeRight(_ probe: ServerProbe) -> Bool {
    guard let answer = self[probe], let range = probe.range, answer.failure == nil, answer.status == 206
    else {
      return false
    }
    return answer.isRight && answer.length == range.upperBound - range.lowerBound
      && answer.head?.contentRange == ContentRange(range: range, completeLength: probe.completeLength)
  }
}

/// The observations of an upload, by which the doctor examines the way of request bodies.
public struct UploadObservation: Sendable {
  /// How a request was answered.
  public struct Step: Hashable, Sendable {
    /// Nil if no response came.
    public var status: Int?
    /// Whether a refusal was the server's own: a problem document.
    public var isProblem: Bool
    /// In words.
    public var message: String

    /// A step from its parts.
    public init(status: Int?, isProblem: Bool, message: String) {
      self.status = status
      self.isProblem = isProblem
      self.message = message
    }
  }

  /// The request that begins an upload.
  public var creation: Step
  /// The request that carries 4 MiB; nil if there was none.
  public var body: Step?
  /// Bytes that the server has of a body whose connection broke after more than 2 MiB; nil if that could not be found out.
  public var keptOfBroken: Int64?

  /// An observation from its parts.
  public init(creation: Step, body: Step? = nil, keptOfBroken: Int64? = nil) {
    self.creation = creation
    self.body = body
    self.keptOfBroken = keptOfBroken
  }
}
