/// The rules of a whole connection that are held against arbitrary bytes: by `scripts/test` with bytes from a seeded ``Mutator``, by
/// `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case connection

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .connection: ConnectionProperties.check(bytes)
    }
  }
}
