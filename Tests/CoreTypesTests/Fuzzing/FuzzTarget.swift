/// The rules that are held against arbitrary documents: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz` with bytes
/// that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case json

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? { JSONProperties.check(bytes) }
}
