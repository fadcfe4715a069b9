public import CoreTypes
public import HTTPClient
public import PullboxAPI
public import ServiceAPI

/// The result of a probe: the response as far as it came, and how long that took.
public struct ProbeAnswer: Sendable {
  /// Why a response did not come, or not to its end.
  public struct Failure: Hashable, Sendable {
    /// The client's code.
    public var code: HTTPClientError.Code
    /// A sentence without a full stop.
    public var message: String
    /// Whether it came after a connection was made.
    public var wasConnected: Bool

    /// A failure from its parts.
    public init(_ code: HTTPClientError.Code, _ message: String, wasConnected: Bool = false) {
      self.code = code
      self.message = message
      self.wasConnected = wasConnected
    }
  }

  /// Nil if no response came.
  public var head: ResponseHead?
  /// Nil if the response came to its end, or to as much of it as was wanted.
  public var failure: Failure?
  /// Bytes of the body that came.
  public var length: Int64
  /// Whether all of them are those of the diagnostic content, from where the head says that they begin.
  public var isRight: Bool
  /// The offset in the content of the first byte that is another one; nil where all are right, or that is not known.
  public var firstWrongByte: Int64?
  /// The body's first bytes, up to 16 KiB.
  public var beginning: [UInt8]
  /// When the request was sent, by this machine's clock.
  public var began: Timestamp
  /// From then to the end.
  public var duration: Duration
  /// From then to the body's first byte; nil without one.
  public var firstByte: Duration?
  /// The properties of the connection; nil if the transfer failed.
  public var connection: ConnectionDetails?

  /// An answer from its parts; public for tests of rules.
  public init(
    head: ResponseHead? = nil, failure: Failure? = nil, length: Int64 = 0, isRight: Bool = true,
    firstWrongByte: Int64? = nil, beginning: [UInt8] = [], began: Timestamp, duration: Duration = .zero,
    firstByte: Duration? = nil,
    connection: ConnectionDetails? = nil
  ) {
    self.head = head
    self.failure = failure
    self.length = length
    self.isRight = isRight
    self.firstWrongByte = firstWrongByte
    self.beginning = beginning
    self.began = began
    self.duration = duration
    self.firstByte = firstByte
    self.connection = connection
  }

  /// Nil without a response.
  public var status: Int? { head?.status }

  /// Whether the body has the length that its head tells, and other bytes than the content's. What rewrites bodies must leave
  /// the length out.
  var isDamaged: Bool { !isRight && failure == nil && head?.contentLength?.rawValue == length }

  /// The difference between the content that came and the content that was sent, in words.
  var damage: String {
    "other bytes came than were sent" + (firstWrongByte.map { ", from byte \($0) of the content on" } ?? "")
  }

  /// The diagnostic report that the body is; nil if it is none. It is read from ``beginning``, so that a
  /// report longer than that is none.
  public var report: DiagnosticReport? {
    guard status == 200 else { return nil }
    return try? APIJSON.decode(DiagnosticReport.self, from: beginning)
  }

  /// The problem document that the body is; nil if it is none.
  public var problem: Problem? { try? APIJSON.decode(Problem.self, from: beginning) }

  /// The first value of a field.
  func field(_ name: String) -> String? { head?.headers[name] }

  /// Whether it is a refusal that says nothing of what was asked about: there is too much to do now.
  var isPassingRefusal: Bool { status == 429 || status == 503 }

  /// Whether what was asked for is refused, for now or for good.
  var isRefused: Bool { status.map { (400..<500).contains($0) || $0 == 503 } ?? false }

  /// The status with what a refusal says of itself, or why there is none, in words.
  var outcome: String {
    guard let status else { return failure?.message ?? "no answer" }
    return "status \(status)\(reason)" + (failure.map { ", then: \($0.message)" } ?? "")
  }

  /// Empty below 400. A detail is cut after 200 characters, a `Retry-After` after 40.
  private var reason: String {
    guard let status, status >= 400 else { return "" }
    let told = problem.map { ": \(String(($0.detail ?? $0.title).prefix(200)))" } ?? ""
    return told + (field("Retry-After").map { " (Retry-After: \(String($0.prefix(40))))" } ?? "")
  }
}
