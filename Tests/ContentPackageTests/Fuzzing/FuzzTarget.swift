/// The rules that are held against arbitrary manifests and archives: by `scripts/test` with bytes from a seeded `Mutator`, by
/// `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case manifest
  case zip

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .manifest: ManifestProperties.check(bytes)
    case .zip: ZipProperties.check(bytes)
    }
  }
}
