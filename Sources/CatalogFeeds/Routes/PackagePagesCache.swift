import CatalogDocuments
import ContentDelivery
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import HTTPServer
import ServiceRuntime
import Synchronization

/// Where the pages of packages lie, and which of them were found to be right. A package never changes, so that both are looked at once for
/// as long as they are remembered.
final class PackagePagesCache: Sendable {
  /// Packages that are remembered, and bytes that they may take together.
  static let maximumCount = 2_000
  static let maximumLength = ByteCount.mebibytes(32)
  /// Bytes that a page is counted with.
  static let pageLength: Int64 = 512
  /// Pages that are remembered to be right.
  static let maximumChecked = 65_536

  /// Pages that loops may send.
  static let maximumOpen = 16_384

  private struct PageKey: Hashable, Sendable {
    var package: SHA256Digest
    var number: Int
  }

  private struct PictureKey: Hashable, Sendable {
    var package: SHA256Digest
    var place: PackedFile
  }

  private let pages = Mutex(
    RecentlyUsedCache<SHA256Digest, PackagePages>(
      maximumCount: maximumCount, maximumLength: maximumLength))
  private let open = Mutex(
    RecentlyUsedCache<PageKey, OpenFile>(
      maximumCount: maximumOpen, maximumLength: ByteCount(Int64(maximumOpen))))
  private let checked = Mutex(
    RecentlyUsedCache<PictureKey, String>(
      maximumCount: maximumChecked, maximumLength: ByteCount(Int64(maximumChecked))))

  /// The page as loops send it; nil for one that was not noted.
  func openFile(_ number: Int, of package: SHA256Digest) -> OpenFile? {
    open.locked { $0.value(for: PageKey(package: package, number: number)) }
  }

  /// Notes a page that was found to be right, for ``openFile(_:of:)``.
  func note(_ file: OpenFile, as number: Int, of package: SHA256Digest) {
    open.locked { $0.insert(file, for: PageKey(package: package, number: number), length: ByteCount(1)) }
  }

  /// The pages of a package that was looked into before; nil otherwise.
  func known(_ digest: SHA256Digest) -> PackagePages? { pages.locked { $0.value(for: digest) } }

  /// Returns the pages of a package that is open; nil for one that has none which are sent one by one. Throws what reading throws.
  func pages(of package: OpenPackage, _ manifest: Manifest) async throws -> PackagePages? {
    if let known = known(package.digest) { return known }
    guard var found = try await PackagePages.find(in: manifest, reading: package.file.bytes(in:)) else {
      return nil
    }
    found.guide = try await guide(in: package, manifest)
    let length = ByteCount(Self.pageLength * Int64(found.pages.count))
    pages.locked { $0.insert(found, for: package.digest, length: length) }
    return found
  }

  /// Returns where a picture lies, and the media type that its bytes have, after comparing them with what was published; that of bytes
  /// which browsers are not to show is `application/octet-stream`. Throws `PackageValidationError` for other bytes than those, and what
  /// reading throws.
  func checked(
    _ picture: PackagePages.Picture, in package: OpenPackage
  ) async throws -> (file: PackedFile, mediaType: String) {
    let file = try await picture.file(in: package.file.length, reading: package.file.bytes(in:))
    let key = PictureKey(package: package.digest, place: file)
    if let known = checked.locked({ $0.value(for: key) }) { return (file, known) }
    let start = try await PackedFileReader.check(
      file, reading: package.file.bytes(in:), returning: PictureFormat.startLength)
    let type = PictureFormat(startOf: start)?.previewMediaType ?? MediaType.bytes.text
    checked.locked { $0.insert(type, for: key, length: ByteCount(1)) }
    return (file, type)
  }

  /// The words of a folder's document beside its pages; nil for one that cannot be read.
  private func guide(in package: OpenPackage, _ manifest: Manifest) async throws -> ComicGuide? {
    guard manifest.kind == .folder, let path = ComicGuide.path(among: manifest.files.map(\.path.text)),
      let file = manifest.files.first(where: { $0.path.text == path }),
      file.length <= PackageLimits.standard.maximumMetadataLength
    else { return nil }
    var bytes: [UInt8] = []
    try await PackedFileReader.forEachPart(of: PackedFile(file), reading: package.file.bytes(in:)) {
      bytes += $0
    }
    return ComicGuide(bytes)
  }
}
