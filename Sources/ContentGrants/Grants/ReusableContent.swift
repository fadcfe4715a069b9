import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls

/// The content that a device need not be sent again, because it has completed another version of the product.
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

  /// The manifests of the versions that the device has completed, besides the grant's own; newest first.
  static func manifests(
    completedBeside grant: GrantRecord, in connection: borrowing Connection
  ) throws -> [SHA256Digest] {
    let grants = try GrantTable.all(of: grant.product, on: grant.device, in: connection)
    return completed(among: grants, otherThan: grant.digest).prefix(maximumVersions).map(\.manifestDigest)
  }

  /// The newest first.
  private static func completed(
    among grants: [GrantRecord], otherThan digest: SHA256Digest
  ) -> [GrantRecord] {
    grants.filter {
      ($0.machine.name == .completed || $0.machine.name == .finished) && $0.digest != digest
    }.sorted { $0.version > $1.version }
  }
}

/// How much of a package a device need not be sent: what it has of another one of the same product, and what belongs to sections that are
/// not required. That is what the manifests say, of up to 16 MiB each.
/// Each two are compared once, on a thread of its own, and not within a write. The last 8192 results are
/// remembered. Requests for one pair at one time share the comparison.
package final class KeptLengths: Sendable {
  private struct Pair: Hashable {
    /// Nil where the device has no other version.
    var older: SHA256Digest?
    var newer: SHA256Digest
  }

  private let thread = BlockingPool(name: "pullbox-kept", threads: 1)
  private let known = Mutex(
    RecentlyUsedCache<Pair, ByteCount>(maximumCount: 8192, maximumLength: .mebibytes(2)))
  private let questions = SharedQuestions<Pair, ByteCount>()
  private let comparisons = Atomic<Int>(0)

  /// How often two manifests were compared.
  var comparisonCount: Int { comparisons.load(ordering: .relaxed) }

  /// How much there is, at most, of the package with the manifest `newer` that is not required, or is in one with a manifest of `older`. A
  /// manifest that is missing or damaged counts as nothing in common. Throws ``DatabaseError``.
  func longest(
    of newer: SHA256Digest, in older: [SHA256Digest], _ database: Database
  ) async throws -> ByteCount {
    var longest = try await length(Pair(older: nil, newer: newer), database)
    for older in older {
      longest = max(longest, try await length(Pair(older: older, newer: newer), database))
    }
    return longest
  }

  private func length(_ pair: Pair, _ database: Database) async throws -> ByteCount {
    if let length = known.locked({ $0.value(for: pair) }) { return length }
    return try await questions.answer(to: pair) { [self] in
      let length = try await thread.run { () throws -> ByteCount? in
        guard let required = try Self.manifest(pair.newer, in: database)?.selecting([]) else { return nil }
        guard let digest = pair.older else { return required.length - PieceMap(required).bytesNeeded }
        guard let older = try Self.manifest(digest, in: database) else { return nil }
        return VersionDifference(from: older, to: required).keptLength
      }
      if pair.older != nil { comparisons.add(1, ordering: .relaxed) }
      // A manifest that is not there, or damaged, may be there again.
      guard let length else { return .zero }
      known.locked { $0.insert(length, for: pair, length: Self.entryLength) }
      return length
    }.answer
  }

  private static let entryLength = ByteCount(150)

  /// It was checked before it came into the table; one that was damaged since credits nothing.
  private static func manifest(_ digest: SHA256Digest, in database: Database) throws -> Manifest? {
    let bytes = try database.readBlocking { try VersionTable.manifestDocument(digest, in: $0) }
    return bytes.flatMap { try? UnverifiedManifest($0).verified(against: digest) }
  }
}
