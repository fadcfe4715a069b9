import Commerce
import ContentCatalog
import ContentPackage
import CoreTypes
import Crypto
package import Database
import DeliveryModel
import DeliveryRecords
import PullboxAPI
import ServiceAPI
package import SystemCalls

/// Says, before a version is released, how many bytes the devices that hold another one will fetch. See
/// docs/publishing.md ("Update sizes").
package struct UpdateSizeEstimator: Sendable {
  /// Devices that are looked at in one turn of the database, so that others get theirs.
  private static let batch = 5000

  package let database: Database
  /// Reads and compares manifests, which takes too long for the cooperative pool.
  package let checks: BlockingPool

  package init(database: Database, checks: BlockingPool) {
    self.database = database
    self.checks = checks
  }

  /// Throws `product-unknown`, `version-unknown`. The holders are in the order of their versions, the newest
  /// first. The sums are of the devices that `share` reaches, each with the version that it has placed last; a
  /// device with the same package fetches nothing. Throws also ``DatabaseError``.
  func sizes(
    of product: ProductIdentifier, version: ContentVersion, reaching share: RolloutPercentage
  ) async throws -> UpdateSizes {
    let target = try await target(product, version)
    let new = try await manifest(target)
    var holders: [UpdateSizes.Holder] = []
    var total: Int64 = 0
    for (version, devices) in try await devices(holding: product, reachedBy: share) {
      guard let record = try await database.read({ try VersionTable.find(product, version, in: $0) }) else {
        continue
      }
      let old = try await manifest(record)
      let difference = VersionDifference(from: old, to: new)
      let changes = FileChanges(from: old, to: new)
      // Byte for byte the same package is not fetched again.
      let isSame = old.digest == new.digest
      let fetched = isSame ? ByteCount.zero : difference.fetchedLength
      total += fetched.rawValue * Int64(devices.reached)
      holders.append(
        UpdateSizes.Holder(
          version: version, devices: devices.all, devicesReached: devices.reached,
          bytesToFetch: fetched, bytesKept: isSame ? new.length : difference.keptLength,
          filesUnchanged: changes.unchanged, filesChanged: changes.changed, filesAdded: changes.added,
          filesRemoved: changes.removed))
    }
    return UpdateSizes(
      product: product, version: target.version, length: target.length, percentage: share.percentage,
      holders: holders.sorted { $0.version > $1.version }, bytesToFetch: ByteCount(total))
  }

  /// The devices that have placed that version last.
  func devices(holding product: ProductIdentifier, _ version: ContentVersion) async throws -> Int {
    try await devices(holding: product, reachedBy: .all)[version]?.all ?? 0
  }

  /// Returns the version to be released. Throws `product-unknown` and `version-unknown`.
  private func target(_ product: ProductIdentifier, _ version: ContentVersion) async throws -> VersionRecord {
    try await database.read { connection in
      guard try ProductTable.exists(product, in: connection) else {
        throw try Problem.unknownProduct(product, in: connection)
      }
      guard let record = try VersionTable.find(product, version, in: connection) else {
        throw try VersionTable.unknown(version, of: product, in: connection)
      }
      return record
    }
  }

  private struct Count {
    /// Devices that have placed it last.
    package var all = 0
    /// Those of them that get the release.
    var reached = 0
  }

  /// Counts the devices by the version that they have, ``batch`` at a time in transactions of their own.
  private func devices(
    holding product: ProductIdentifier, reachedBy share: RolloutPercentage
  ) async throws -> [ContentVersion: Count] {
    var counts: [ContentVersion: Count] = [:]
    var after = ""
    while true {
      let place = after
      let rows = try await database.read { connection in
        try GrantTable.holders(of: product, after: place, limit: Self.batch, in: connection)
      }
      for (device, version) in rows {
        counts[version, default: Count()].all += 1
        if share.includes(device, of: product) { counts[version, default: Count()].reached += 1 }
      }
      guard rows.count == Self.batch, let last = rows.last else { return counts }
      after = last.device.description
    }
  }

  /// Reading a manifest of thousands of files takes a while, so not on the database's thread.
  private func manifest(_ record: VersionRecord) async throws -> Manifest {
    let document = try await database.read {
      try VersionTable.manifestDocument(record.manifestDigest, in: $0)
    }
    guard let document else {
      throw Problem(.internalError, "the manifest of \(record.product) \(record.version) is not there")
    }
    return try await checks.run {
      try UnverifiedManifest(document).verified(against: record.manifestDigest)
    }
  }
}
