/// The rules that are held against arbitrary publications: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz` with
/// bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case archive
  case comic
  case epub
  case package
  case pattern

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .archive: ArchiveProperties.check(bytes)
    case .comic: PublicationProperties.checkComic(bytes)
    case .epub: PublicationProperties.checkEPUB(bytes)
    case .package: PackageProperties.check(bytes)
    case .pattern: PatternProperties.check(bytes)
    }
  }
}
