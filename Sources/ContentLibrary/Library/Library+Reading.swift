import AgentRecords
package import Commerce
package import ContentPackage
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Placed content for those who read it through the agent.
extension Library {
  /// The manifest by which a version was placed; nil where the library does not hold it, and where another manifest lies beside it.
  /// Throws ``LibraryOfflineError``, and `entitlement-revoked` for what was taken back.
  package func manifest(
    of product: ProductIdentifier, version: ContentVersion
  ) async throws -> Manifest? {
    try await BlockingPool.shared.run { [self] in
      try requireOnline()
      guard let record = try database.libraryRecord(of: product, version: version) else { return nil }
      try Self.requireReadable(record)
      return try manifestToRead(of: record)
    }
  }

  /// Throws `entitlement-revoked` for content that lies out of the tree that readers see.
  static func requireReadable(_ record: LibraryRecord) throws(Problem) {
    guard record.isWithdrawn else { return }
    throw Problem(
      .entitlementRevoked,
      "\(record.product) was taken back: its files are kept where no reader sees them, for when it is owned again"
    )
  }

  /// The properties that the content's files had when their bytes were last right; nil where that is not known. Blocks.
  package func knownStamps(of manifest: Manifest) throws -> FileStamps? {
    guard let record = try database.libraryRecord(of: manifest.product, version: manifest.version),
      record.manifestDigest == manifest.manifestDigest
    else { return nil }
    let saved = try database.stamps(of: record).flatMap {
      FileStamps(encoded: $0, files: manifest.files.count)
    }
    guard let fresh = placements.stamps(of: manifest) else { return saved }
    return saved?.filled(from: fresh) ?? fresh
  }

  /// Compares the files that have changed since they were last right, and says whether all of them are the manifest's. Throws
  /// ``LibraryOfflineError``.
  package func isWhole(_ manifest: Manifest) async throws -> Bool {
    try await exclusion.run(manifest.product) {
      let record = try await BlockingPool.shared.run { [self] in
        try requireOnline()
        return try database.libraryRecord(of: manifest.product, version: manifest.version)
      }
      guard let record, !record.isWithdrawn, record.manifestDigest == manifest.manifestDigest else {
        return false
      }
      return try await check(record, everything: false).isWhole
    }
  }
}
