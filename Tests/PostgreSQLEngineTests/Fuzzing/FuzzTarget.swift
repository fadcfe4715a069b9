/// The rules that are held against arbitrary answers of PostgreSQL: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz`
/// with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case answer
  case conversation
  case rows

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .answer: AnswerProperties.check(bytes)
    case .conversation: ConversationProperties.check(bytes)
    case .rows: RowProperties.check(bytes)
    }
  }
}
