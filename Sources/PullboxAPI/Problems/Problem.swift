/// A refusal as RFC 9457 writes it (`application/problem+json`), with the members that help a program to go on.
public struct Problem: Error, Hashable, Sendable, Codable {
  /// One fault among several: every fault is listed, never only the first.
  public struct Fault: Hashable, Sendable, Codable {
    public var code: String
    /// The file or member it is about.
    public var path: String?
    public var detail: String

    public init(code: String, path: String? = nil, detail: String) {
      self.code = code
      self.path = path
      self.detail = detail
    }
  }

  public var type: String
  public var title: String
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
  public var faults: [Fault]?

  public init(
    _ code: ProblemCode, _ detail: String? = nil, missingStep: CompletionStep? = nil,
    retryAfterSeconds: Int? = nil, expectedOffset: Int64? = nil, faults: [Fault]? = nil
  ) {
    type = ProblemCode.typePrefix + code.text
    title = code.title
    status = code.status
    self.detail = detail
    self.missingStep = missingStep?.rawValue
    self.retryAfterSeconds = retryAfterSeconds
    self.expectedOffset = expectedOffset
    self.faults = faults
  }

  /// Nil when the other side speaks of a code this version does not know.
  public var code: ProblemCode? { ProblemCode(type: type) }
}

extension Problem: CustomStringConvertible {
  public var description: String {
    let listed = (faults ?? []).map { fault in
      "\n  \(fault.path.map { "\($0): " } ?? "")\(fault.detail) (\(fault.code))"
    }
    return (detail.map { "\(title): \($0)" } ?? title) + listed.joined()
  }
}
