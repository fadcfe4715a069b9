@testable import CatalogFiles

/// The rules that are held against arbitrary files of a catalog: by `scripts/test` with bytes from a seeded `Mutator`, by `scripts/fuzz`
/// with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case sheet
  case catalogLines = "catalog-lines"

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .sheet: CatalogProperties.checkRows(bytes) ?? CatalogProperties.check(bytes, as: .csv)
    case .catalogLines: CatalogProperties.check(bytes, as: .json)
    }
  }
}
