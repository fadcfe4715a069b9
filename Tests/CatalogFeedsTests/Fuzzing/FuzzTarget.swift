/// The rules that are held against arbitrary questions of readers' applications: by `scripts/test` with bytes from a seeded `Mutator`, by
/// `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case question

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? { QuestionProperties.check(bytes) }
}
