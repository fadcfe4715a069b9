/// The rules that are held against arbitrary documents of devices, and those that devices get: by `scripts/test` with bytes from a seeded
/// `Mutator`, by `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case license
  case progress
  case report

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .license: LicenseProperties.check(bytes)
    case .progress: ProgressProperties.check(bytes)
    case .report: ReportProperties.check(bytes)
    }
  }
}
