package import CatalogDocuments
package import ContentDelivery
import CoreTypes
package import Crypto
import PullboxAPI
import ServiceRuntime
import Synchronization

/// The facts of packages that feeds tell. A package never changes, so that its manifest is read once for as long as it is remembered.
package final class PackageFactsCache: Sendable {
  /// Packages that are remembered.
  static let maximumCount = 20_000

  private let packages: OpenPackageCache
  private let facts = Mutex(
    RecentlyUsedCache<SHA256Digest, PackageFacts>(
      maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount))))

  package init(packages: OpenPackageCache) {
    self.packages = packages
  }

  /// Returns the facts of these packages; a package without a manifest has none. Throws what the database throws.
  package func facts(of digests: Set<SHA256Digest>) async throws -> [SHA256Digest: PackageFacts] {
    var found = facts.locked { facts in
      digests.reduce(into: [SHA256Digest: PackageFacts]()) { $0[$1] = facts.value(for: $1) }
    }
    for digest in digests where found[digest] == nil {
      do {
        let known = PackageFacts(try await packages.manifest(of: digest))
        found[digest] = known
        facts.locked { $0.insert(known, for: digest, length: ByteCount(1)) }
      } catch let problem as Problem where problem.code == .contentUnknown {
        continue
      }
    }
    return found
  }
}
