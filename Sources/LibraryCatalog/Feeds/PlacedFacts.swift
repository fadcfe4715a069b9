import CatalogDocuments
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import Synchronization

/// The facts of placed content that feeds tell.
struct PlacedFacts: Hashable, Sendable {
  var package: PackageFacts
  /// Whether the content itself has a picture for its cover.
  var hasCover: Bool

  /// The facts that the manifest tells.
  init(_ manifest: Manifest) {
    package = PackageFacts(manifest)
    hasCover = PlacedFacts.cover(of: manifest) != nil
  }

  /// The number of the file in the manifest that shows the cover; nil where there is none that browsers show.
  static func cover(of manifest: Manifest) -> Int? {
    guard manifest.kind == .folder, let path = manifest.cover,
      PackageFacts.pictureType(ofFileNamed: path.text) != nil
    else { return nil }
    return manifest.files.firstIndex { $0.path == path }
  }
}

/// The facts of placed content, whose manifests are read once for as long as they are remembered.
final class PlacedFactsCache: Sendable {
  /// Contents that are remembered.
  private static let maximumCount = 20_000

  private struct Key: Hashable, Sendable {
    var product: ProductIdentifier
    var version: ContentVersion
    var digest: SHA256Digest

    init(_ item: LibraryItem) {
      (product, version, digest) = (item.product, item.version, item.digest)
    }
  }

  private let library: Library
  private let facts = Mutex(
    RecentlyUsedCache<Key, PlacedFacts>(
      maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount))))

  init(_ library: Library) {
    self.library = library
  }

  /// Returns the facts of these items; an item without a manifest has none. Throws what reading throws.
  func facts(of items: [LibraryItem]) async throws -> [ProductIdentifier: PlacedFacts] {
    var found: [ProductIdentifier: PlacedFacts] = [:]
    for item in items {
      let key = Key(item)
      if let known = facts.locked({ $0.value(for: key) }) {
        found[item.product] = known
        continue
      }
      guard let manifest = try await library.manifest(of: item.product, version: item.version) else {
        continue
      }
      let made = PlacedFacts(manifest)
      facts.locked { $0.insert(made, for: key, length: ByteCount(1)) }
      found[item.product] = made
    }
    return found
  }
}
