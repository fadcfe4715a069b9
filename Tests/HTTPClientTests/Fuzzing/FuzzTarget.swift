/// The rules that are held against arbitrary heads of responses: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz` with
/// bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case response

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? { ResponseProperties.check(bytes) }
}
