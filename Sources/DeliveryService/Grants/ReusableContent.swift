import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import PullboxAPI

/// What a device need not be sent again, because it has completed another version of the product.
enum ReusableContent {
  /// Versions that are looked at, at most; newest first.
  private static let maximumVersions = 4

  /// The version to keep files of, of the device's grants of a product; nil where it has completed no other than
  /// the one with that digest.
  static func previous(of digest: SHA256Digest, among grants: [GrantRecord]) -> PreviousContent? {
    completed(among: grants, otherThan: digest).first.map {
      PreviousContent(version: $0.version, digest: $0.digest)
    }
  }

  /// How much of the grant's package the device has, at most, in versions that it completed.
  static func length(of grant: GrantRecord, in connection: borrowing Connection) throws -> ByteCount {
    guard let newer = try manifest(of: grant, in: connection) else { return .zero }
    return try completed(before: grant, in: connection).compactMap { other in
      try manifest(of: other, in: connection).map { VersionDifference(from: $0, to: newer).keptLength }
    }.max() ?? .zero
  }

  private static func completed(
    before grant: GrantRecord, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    let grants = try GrantTable.all(of: grant.product, on: grant.device, in: connection)
    return Array(completed(among: grants, otherThan: grant.digest).prefix(maximumVersions))
  }

  /// The newest first.
  private static func completed(
    among grants: [GrantRecord], otherThan digest: SHA256Digest
  ) -> [GrantRecord] {
    grants.filter {
      ($0.machine.name == .completed || $0.machine.name == .finished) && $0.digest != digest
    }.sorted { $0.version > $1.version }
  }

  private static func manifest(
    of grant: GrantRecord, in connection: borrowing Connection
  ) throws -> Manifest? {
    guard let bytes = try VersionTable.manifestDocument(grant.manifestDigest, in: connection) else {
      return nil
    }
    // It was checked before it came into the table; one that was damaged since credits nothing.
    return try? UnverifiedManifest(bytes).verified(against: grant.manifestDigest)
  }
}
