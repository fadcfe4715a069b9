import CatalogDocuments
import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import ServiceRuntime
import Synchronization

/// Where the pages of placed comics lie. Content never changes, so that the directory of an archive is read once for as long as it is
/// remembered.
final class PlacedPagesCache: Sendable {
  /// Comics that are remembered, and bytes that they may take together.
  private static let maximumCount = 500
  private static let maximumLength = ByteCount.mebibytes(8)
  /// Bytes that a page is counted with.
  private static let pageLength: Int64 = 512

  private let pages = Mutex(
    RecentlyUsedCache<SHA256Digest, PackagePages>(maximumCount: maximumCount, maximumLength: maximumLength))

  /// Nil for content that has no pages which are sent one by one. Throws what opening throws, and `content-damaged`.
  func pages(of manifest: Manifest, in files: PlacedFiles) async throws -> PackagePages? {
    // A folder's are in its manifest.
    guard manifest.kind == .file else { return PackagePages(manifest) }
    guard manifest.mediaType == .comicBook, manifest.pageCount != nil else { return nil }
    if let known = pages.locked({ $0.value(for: manifest.identity) }) { return known }
    let archive = try await files.open(0, of: manifest)
    let found = try await PlacedFiles.reading(manifest) {
      try await PackagePages.find(in: manifest, reading: archive.bytes(in:))
    }
    guard let found else { return nil }
    let length = ByteCount(Self.pageLength * Int64(found.pages.count))
    pages.locked { $0.insert(found, for: manifest.identity, length: length) }
    return found
  }
}
