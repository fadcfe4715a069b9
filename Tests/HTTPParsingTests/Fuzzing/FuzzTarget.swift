/// The rules that are held against arbitrary bytes: by `scripts/test` with bytes from a seeded ``Mutator``, by
/// `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case head
  case chunks
  case ranges
  case conditions

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .head: HeadProperties.check(bytes)
    case .chunks: ChunkProperties.check(bytes)
    case .ranges: RangeProperties.check(bytes)
    case .conditions: ConditionProperties.check(bytes)
    }
  }
}
