/// The rules that are held against arbitrary requests to the console: by `scripts/test` with bytes from a seeded `Mutator`, by
/// `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case form
  case visit

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .form: FormProperties.check(bytes)
    case .visit: VisitProperties.check(bytes)
    }
  }
}
