public import CoreTypes

/// A refusal as RFC 9457 writes it (`application/problem+json`): every interface answers so where it does not do what it
/// was asked. ``code`` is for programs, ``detail`` for people; further members say what helps a program to continue.
///
/// ```swift
/// throw Problem(.uploadOffsetMismatch, "the upload stands at byte 4096", expectedOffset: 4096)
/// ```
///
/// ```json
/// {"detail":"the upload stands at byte 4096","expectedOffset":4096,"status":409,
///  "title":"The upload stands at another offset","type":"urn:pullbox:problem:upload-offset-mismatch"}
/// ```
public struct Problem: Error, Hashable, Sendable, Codable {
  /// One fault among several: every fault is listed, never only the first.
  public struct Fault: Hashable, Sendable, Codable {
    /// A stable name for programs.
    public var code: String
    /// The file or member it is about.
    public var path: String?
    /// A sentence for people.
    public var detail: String

    /// Creates the fault; nil for `path` when it is about the whole.
    public init(code: String, path: String? = nil, detail: String) {
      self.code = code
      self.path = path
      self.detail = detail
    }
  }

  /// `urn:pullbox:problem:` and the code's name; ``unspecifiedType`` and others come from proxies.
  public var type: String
  /// The same for every occurrence of the type; empty only in other servers' documents.
  public var title: String
  /// The HTTP status, which the response has too.
  public var status: Int
  /// A sentence on this occurrence, for people.
  public var detail: String?
  /// This occurrence: `urn:pullbox:request:` and the request's id, as the server's logs have it.
  public var instance: String?
  /// With `completion-mismatch`: the link of the chain that is not there.
  public var missingStep: String?
  /// Also sent as `Retry-After`.
  public var retryAfterSeconds: Int?
  /// With `upload-offset-mismatch`: where the upload stands.
  public var expectedOffset: Int64?
  /// With `clock-skew`: the server's clock, which the next proof is to be signed for.
  public var serverTime: Timestamp?
  /// With `already-subscribed`: the end of the period that runs.
  public var expiresDate: Timestamp?
  /// With `second-operator-required`: the number of the request that waits for an approval.
  public var approval: Int64?
  /// With `not-here-yet`: the seconds after which the bytes may be there.
  public var after: Int?
  /// Everything that is wrong, where several things are; absent otherwise.
  public var faults: [Fault]?

  /// Creates a refusal; type, title and status follow from `code`. What is nil is left out.
  public init(
    _ code: ProblemCode, _ detail: String? = nil, missingStep: CompletionStep? = nil,
    retryAfterSeconds: Int? = nil, expectedOffset: Int64? = nil, serverTime: Timestamp? = nil,
    expiresDate: Timestamp? = nil, approval: Int64? = nil, faults: [Fault]? = nil
  ) {
    type = ProblemCode.typePrefix + code.text
    title = code.title
    status = code.status
    self.detail = detail
    self.missingStep = missingStep?.rawValue
    self.retryAfterSeconds = retryAfterSeconds
    self.expectedOffset = expectedOffset
    self.serverTime = serverTime
    self.expiresDate = expiresDate
    self.approval = approval
    self.faults = faults
  }

  /// Returns the ``instance`` for the request with that id.
  public static func instance(ofRequest id: String) -> String { "urn:pullbox:request:\(id)" }

  /// Nil when the other side speaks of a code this version does not know.
  public var code: ProblemCode? { ProblemCode(type: type) }
}

extension Problem {
  /// The media type of problem documents.
  public static let mediaType = "application/problem+json"
  /// The type of a document that names none (RFC 9457 §4.2.1): it says no more than its status.
  public static let unspecifiedType = "about:blank"

  /// The members of a problem document, as far as they are there and of their own kind.
  private struct Members: Decodable {
    var type: String?
    var title: String?
    var status: Int?
    var detail: String?
    var instance: String?
    var missingStep: String?
    var retryAfterSeconds: Int?
    var expectedOffset: Int64?
    var serverTime: Timestamp?
    var expiresDate: Timestamp?
    var approval: Int64?
    var after: Int?
    var faults: [Fault]?

    /// The codes that RFC 9110 §15 defines the classes of.
    private static let statuses = 100...599

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Problem.CodingKeys.self)
      func value<Value: Decodable>(_ key: Problem.CodingKeys) -> Value? {
        try? container.decode(Value.self, forKey: key)
      }
      type = value(.type)
      title = value(.title)
      status = value(.status).flatMap { Self.statuses.contains($0) ? $0 : nil }
      detail = value(.detail)
      instance = value(.instance)
      missingStep = value(.missingStep)
      retryAfterSeconds = value(.retryAfterSeconds)
      expectedOffset = value(.expectedOffset)
      serverTime = value(.serverTime)
      expiresDate = value(.expiresDate)
      approval = value(.approval)
      after = value(.after)
      faults = value(.faults)
    }
  }

  /// Reads the problem document of a response, of whatever server; nil if the body is none.
  ///
  /// RFC 9457 §3.1 makes every member optional, and lets a member of another kind than its own count as absent. Without them the type is
  /// ``unspecifiedType``, the title the phrase of the status (§4.2.1; empty for a status that has none), and the status the response's.
  ///
  /// - Parameters:
  ///   - document: the response's body. Nothing but a JSON object is a problem document.
  ///   - status: the response's status.
  ///   - isDeclared: whether the response has ``mediaType``. An object of another media type is a problem document if it has a `status`,
  ///     and a `type` or a `title`.
  public init?(document: [UInt8], status: Int, isDeclared: Bool) {
    guard let members = try? APIJSON.decode(Members.self, from: document) else { return nil }
    guard isDeclared || members.status != nil && (members.type ?? members.title) != nil else { return nil }
    type = members.type ?? Self.unspecifiedType
    self.status = members.status ?? status
    title = members.title ?? "\(ReasonPhrase.phrase(ofStatus: self.status))"
    detail = members.detail
    instance = members.instance
    missingStep = members.missingStep
    retryAfterSeconds = members.retryAfterSeconds
    expectedOffset = members.expectedOffset
    serverTime = members.serverTime
    expiresDate = members.expiresDate
    approval = members.approval
    after = members.after
    faults = members.faults
  }
}

extension Problem: CustomStringConvertible {
  /// The title with the sentence on this occurrence, then a line for each fault. The status stands in the place of an empty title.
  public var description: String {
    let title = title.isEmpty ? "status \(status)" : title
    let listed = (faults ?? []).map { fault in
      "\n  \(fault.path.map { "\($0): " } ?? "")\(fault.detail) (\(fault.code))"
    }
    return (detail.map { "\(title): \($0)" } ?? title) + listed.joined()
  }
}

/// The links of the chain that a completion must have behind it; a `completion-mismatch` names the first that is
/// missing.
public enum CompletionStep: String, Sendable, CaseIterable {
  /// The report is signed by the key that the device gave when the grant was made.
  case deviceSignature = "device-signature"
  /// The report names the device that the grant is for.
  case device
  /// The report names the granted version.
  case version
  /// The report names the granted package's digest.
  case digest
  /// The report names the granted package's length.
  case length
  /// The server has sent the device that many bytes.
  case delivery
  /// The grant is live: not revoked.
  case grant
}
