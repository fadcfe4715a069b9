import CatalogDocuments
package import Commerce
import ContentDelivery
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import PackageStorage
import PullboxAPI
package import ServiceAPI
import ServiceRuntime
import Synchronization
package import SystemCalls

/// Shows operators the pages of a version, whether it is released or not. A page is read out of the package where it lies and compared with
/// the digest that the manifest has of it, or with the checksum that an archive has which was published as its maker made it.
package struct PackagePageReader: Sendable {
  /// A longer page is not shown: it is read into memory.
  static let maximumPage = ByteCount.mebibytes(16)
  /// Bytes of one read of the package.
  private static let part = 1 << 20

  private let database: Database
  private let shelf: any PackageShelf
  private let checks: BlockingPool
  private let archives = ArchiveMemory()

  /// The pages of archives that were looked at lately.
  private final class ArchiveMemory: Sendable {
    /// Archives that are remembered, and bytes that they may take together, a page counted as half a KiB.
    private let known = Mutex(
      RecentlyUsedCache<SHA256Digest, [PackagePages.Picture]>(
        maximumCount: 100, maximumLength: .mebibytes(8)))

    func value(for package: SHA256Digest) -> [PackagePages.Picture]? {
      known.locked { $0.value(for: package) }
    }

    func insert(_ pages: [PackagePages.Picture], for package: SHA256Digest) {
      known.locked { $0.insert(pages, for: package, length: ByteCount(512 * Int64(pages.count + 1))) }
    }
  }

  /// - Parameters:
  ///   - shelf: has the packages.
  ///   - checks: reads manifests and unpacks pages, which takes too long for the cooperative pool.
  package init(database: Database, shelf: any PackageShelf, checks: BlockingPool) {
    self.database = database
    self.shelf = shelf
    self.checks = checks
  }

  /// The pages in the order in which they are read. Throws `product-unknown`, `version-unknown` and ``DatabaseError``.
  package func pages(
    of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> VersionPages {
    let (record, manifest) = try await manifest(of: product, version)
    let pages: [VersionPages.Page] =
      if manifest.kind == .folder {
        Self.files(of: manifest).enumerated().map { index, file in
          VersionPages.Page(
            number: index + 1, path: file.path.text, length: file.length, digest: file.digest)
        }
      } else {
        try await archived(in: manifest, of: record.digest).enumerated().map { index, picture in
          VersionPages.Page(
            number: index + 1, path: picture.name, length: picture.length,
            checksum: Self.checksum(of: picture))
        }
      }
    return VersionPages(product: product, version: record.version, pages: pages)
  }

  /// The CRC-32 that the archive has of a page, in hexadecimal.
  private static func checksum(of picture: PackagePages.Picture) -> String? {
    guard case .entry(let entry) = picture.place else { return nil }
    let digits = String(entry.checksum, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// The page of that number, from 1. Throws as ``pages(of:_:)`` does, and `preview-unknown` for a page that is not there, that is longer than
  /// ``maximumPage``, that is no picture which browsers show, or whose bytes are not those of the manifest.
  func page(
    _ number: Int, of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> PreviewTable.Preview {
    let (record, manifest) = try await manifest(of: product, version)
    let found: (name: String, content: [UInt8])
    if manifest.kind == .folder {
      let file = try Self.element(number, of: Self.files(of: manifest), in: record)
      try Self.require(file.length, file.storedLength)
      found = (file.path.text, try await self.content(of: file, in: record.digest))
    } else {
      let picture = try Self.element(
        number, of: try await archived(in: manifest, of: record.digest), in: record)
      try Self.require(picture.length)
      found = (picture.name, try await self.content(of: picture, in: record.digest, manifest))
    }
    let content = found.content
    guard let type = PictureFormat(startOf: content)?.previewMediaType else {
      throw Problem(.previewUnknown, "\(found.name) is no picture that browsers show")
    }
    return PreviewTable.Preview(
      place: number, mediaType: type, digest: await checks.run { SHA256Digest.of(content) }, content: content)
  }

  private static func element<Element>(
    _ number: Int, of pages: [Element], in record: VersionRecord
  ) throws(Problem) -> Element {
    guard pages.indices.contains(number - 1) else {
      throw Problem(.previewUnknown, "\(record.product) \(record.version) has \(pages.count) pages")
    }
    return pages[number - 1]
  }

  private static func require(_ lengths: ByteCount...) throws(Problem) {
    guard lengths.allSatisfy({ $0 <= maximumPage }) else {
      throw Problem(.previewUnknown, "pages of more than \(maximumPage) are not shown")
    }
  }

  /// Reads the bytes of a package where it lies.
  private func source(of package: SHA256Digest) async throws -> PackedFileReader.Source {
    let reader = try await shelf.reader(of: package)
    return { range in
      var bytes: [UInt8] = []
      while bytes.count < range.count {
        let position = ByteCount(range.lowerBound + Int64(bytes.count))
        let part = try await reader.bytes(
          from: position, upTo: min(range.count - bytes.count, PackagePageReader.part))
        guard !part.isEmpty else { break }
        bytes += part
      }
      return bytes
    }
  }

  /// The pages of a comic book that is one archive; none of any other file, and of an archive whose pages cannot be told. Of a package
  /// that was looked at lately they are remembered: an archive's directory may be long, and may lie in a store.
  private func archived(
    in manifest: Manifest, of package: SHA256Digest
  ) async throws -> [PackagePages.Picture] {
    guard manifest.kind == .file else { return [] }
    if let known = archives.value(for: package) { return known }
    let found: [PackagePages.Picture]
    do {
      let pages = try await PackagePages.find(in: manifest, reading: try await source(of: package))
      found = pages?.pages.map(\.picture) ?? []
    } catch is PackageValidationError {
      found = []
    }
    archives.insert(found, for: package)
    return found
  }

  private func content(
    of picture: PackagePages.Picture, in package: SHA256Digest, _ manifest: Manifest
  ) async throws -> [UInt8] {
    let source = try await source(of: package)
    do {
      let file = try await picture.file(in: manifest.length, reading: source)
      return try await PackedFileReader.check(
        file, reading: source, returning: Int(picture.length.rawValue))
    } catch let error as PackageValidationError {
      throw Problem(.previewUnknown, "\(picture.name): \(error)")
    }
  }

  private func content(of file: ManifestFile, in package: SHA256Digest) async throws -> [UInt8] {
    do {
      switch file.method {
      case .deflated:
        let shared = try await shelf.openWhole(package)
        return try await checks.run { try PackageFileReader.content(of: file, in: shared.file) }
      case .stored:
        let reader = try await shelf.reader(of: package)
        var content: [UInt8] = []
        while Int64(content.count) < file.length.rawValue {
          let position = file.offset + ByteCount(Int64(content.count))
          let rest = Int(file.length.rawValue) - content.count
          let bytes = try await reader.bytes(from: position, upTo: min(rest, Self.part))
          guard !bytes.isEmpty else { break }
          content += bytes
        }
        let read = content
        guard await checks.run({ SHA256Digest.of(read) == file.digest }) else {
          throw PackageValidationError(.fileDigestMismatch, "its bytes are not those of the manifest")
        }
        return content
      }
    } catch let error as PackageValidationError {
      throw Problem(.previewUnknown, "\(file.path.text): \(error)")
    }
  }

  /// The version, with what its package has.
  private func manifest(
    of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> (VersionRecord, Manifest) {
    let (record, document) = try await database.read { connection in
      guard let record = try VersionTable.find(product, version, in: connection),
        let document = try VersionTable.manifestDocument(record.manifestDigest, in: connection)
      else { throw try VersionTable.unknown(version, of: product, in: connection) }
      return (record, document)
    }
    let manifest = try await checks.run {
      try UnverifiedManifest(document).verified(against: record.manifestDigest)
    }
    return (record, manifest)
  }

  /// The pages of a folder in their order.
  private static func files(of manifest: Manifest) -> [ManifestFile] {
    let files = Dictionary(
      manifest.files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    return (manifest.readingOrder ?? []).compactMap { files[$0] }
  }
}
