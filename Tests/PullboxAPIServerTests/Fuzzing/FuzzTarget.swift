/// The rules that are held against arbitrary fields of requests: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz` with
/// bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case credentials

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? { CredentialProperties.check(bytes) }
}
