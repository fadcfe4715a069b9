package import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import PackageStorage
package import PullboxAPI
package import SystemCalls

/// Shows operators the pages of a version that is a folder, whether it is released or not. A page is read out of the package where it lies and
/// compared with the digest that the manifest has of it.
package struct PackagePageReader: Sendable {
  /// A longer page is not shown: it is read into memory.
  static let maximumPage = ByteCount.mebibytes(16)
  /// Bytes of one read of the package.
  private static let part = 1 << 20

  private let database: Database
  private let shelf: any PackageShelf
  private let checks: BlockingPool

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
    let (record, files) = try await files(of: product, version)
    return VersionPages(
      product: product, version: record.version,
      pages: files.enumerated().map { index, file in
        VersionPages.Page(
          number: index + 1, path: file.path.text, length: file.length, digest: file.digest)
      })
  }

  /// The page of that number, from 1. Throws as ``pages(of:_:)`` does, and `preview-unknown` for a page that is not there, that is longer than
  /// ``maximumPage``, that is no picture which browsers show, or whose bytes are not those of the manifest.
  func page(
    _ number: Int, of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> PreviewTable.Preview {
    let (record, files) = try await files(of: product, version)
    guard files.indices.contains(number - 1) else {
      throw Problem(.previewUnknown, "\(product) \(record.version) has \(files.count) pages")
    }
    let file = files[number - 1]
    guard file.length <= Self.maximumPage, file.storedLength <= Self.maximumPage else {
      throw Problem(.previewUnknown, "pages of more than \(Self.maximumPage) are not shown")
    }
    let content = try await content(of: file, in: record.digest)
    guard let type = PictureFormat(startOf: content)?.previewMediaType else {
      throw Problem(.previewUnknown, "\(file.path.text) is no picture that browsers show")
    }
    return PreviewTable.Preview(place: number, mediaType: type, digest: file.digest, content: content)
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

  /// The version, and its pages as files of its package.
  private func files(
    of product: ProductIdentifier, _ version: ContentVersion
  ) async throws -> (VersionRecord, [ManifestFile]) {
    let (record, document) = try await database.read { connection in
      guard let record = try VersionTable.find(product, version, in: connection),
        let document = try VersionTable.manifestDocument(record.manifestDigest, in: connection)
      else { throw try VersionTable.unknown(version, of: product, in: connection) }
      return (record, document)
    }
    let manifest = try await checks.run {
      try UnverifiedManifest(document).verified(against: record.manifestDigest)
    }
    guard manifest.kind == .folder else { return (record, []) }
    let files = Dictionary(
      manifest.files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    return (record, (manifest.readingOrder ?? []).compactMap { files[$0] })
  }
}
