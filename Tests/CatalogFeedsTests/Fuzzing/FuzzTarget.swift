/// The rules that are held against arbitrary questions and words of readers' applications: by `scripts/test` with bytes from a seeded
/// `Mutator`, by `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case position
  case question

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .position: PositionProperties.check(bytes)
    case .question: QuestionProperties.check(bytes)
    }
  }
}
