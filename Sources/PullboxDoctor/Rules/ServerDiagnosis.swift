/// The findings that follow from the observations of a delivery server. Pure: the same observations give the same
/// findings.
///
/// ```swift
/// let findings = ServerDiagnosis.findings(observations)
/// Finding.conclusion(findings)  // .failure
/// ```
public enum ServerDiagnosis {
  /// The findings in the order in which they are read: each rests on those before it.
  public static func findings(_ seen: ServerObservations) -> [Finding] {
    let way = ReachabilityRules.findings(seen)
    // Whatever answered, it was not the server: nothing else it says means anything.
    guard seen.report != nil else { return way + unasked(seen) }
    let findings =
      ClockRules.findings(seen) + RequestRules.findings(seen) + RangeRules.findings(seen)
      + ValidatorRules.findings(seen) + BodyRules.findings(seen) + ExposureRules.findings(seen)
      + UploadRules.findings(seen)
    return way + findings + unasked(seen)
  }

  /// `time`; empty where all was asked.
  private static func unasked(_ seen: ServerObservations) -> [Finding] {
    guard !seen.unasked.isEmpty else { return [] }
    let names = seen.unasked.map(\.rawValue).joined(separator: ", ")
    return [
      Finding("time", .undetermined, "the answers took so long that not all was asked; left out: \(names)")
    ]
  }
}
