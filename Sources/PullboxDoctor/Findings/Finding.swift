/// The result of one check: whether what was asked about is well, in a sentence, and what is to be changed if it is not.
public struct Finding: Hashable, Sendable {
  /// How a check ended.
  public enum Verdict: String, Codable, Sendable {
    /// All is well.
    case ok
    /// It works, and something about it is not as it should be.
    case warning
    /// Downloads or uploads suffer from it.
    case failure
    /// It could not be found out.
    case undetermined
  }

  /// The check's name, such as `if-range`; the same in every version.
  public var check: String
  /// How it ended.
  public var verdict: Verdict
  /// The observation, in a sentence without a full stop.
  public var message: String
  /// Why it is not well; nil where that is not known, or nothing can be done about it.
  public var cause: Cause?

  /// A finding from its parts.
  public init(_ check: String, _ verdict: Verdict, _ message: String, cause: Cause? = nil) {
    self.check = check
    self.verdict = verdict
    self.message = message
    self.cause = cause
  }

  /// Returns the verdict of all findings together: the worst of them. A failure is worse than an undetermined finding,
  /// and a warning counts as well.
  public static func conclusion(_ findings: [Finding]) -> Verdict {
    let verdicts = Set(findings.map(\.verdict))
    return [.failure, .undetermined, .warning].first { verdicts.contains($0) } ?? .ok
  }
}

/// A finding as a program reads it: one JSON object.
public struct FindingDocument: Encodable, Sendable {
  /// The names of the members are those of docs/doctor.md. Members without a value are left out.
  private let check: String
  private let verdict: Finding.Verdict
  private let message: String
  private let cause: String?
  private let advice: String?
  /// By the raw value of ``Proxy``; nil where no line is to be changed.
  private let lines: [String: String]?

  /// The finding with all that its cause says.
  public init(_ finding: Finding) {
    check = finding.check
    verdict = finding.verdict
    message = finding.message
    cause = finding.cause?.rawValue
    advice = finding.cause?.remedy.advice
    let remedies = finding.cause?.remedy.lines ?? [:]
    lines =
      remedies.isEmpty
      ? nil : Dictionary(uniqueKeysWithValues: remedies.map { ($0.key.rawValue, $0.value) })
  }
}
