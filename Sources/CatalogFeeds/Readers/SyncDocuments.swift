package import ContentDelivery
package import CoreTypes
package import Crypto
import HTTPServer
import ServiceRuntime
import Synchronization

/// Finds the package that KOReader means: it names a file by the MD5 of eleven of its parts, or by that of its name.
package final class SyncDocuments: Sendable {
  /// Packages whose names are remembered.
  static let maximumCount = 20_000
  /// Packages that one question opens, at most; the names of more are known after the next.
  static let maximumOpened = 32
  /// The time in which a package that could not be read is not tried again.
  static let pause: Duration = .seconds(60)
  /// Bytes of each part.
  static let partLength: Int64 = 1024

  private let names = Mutex(
    RecentlyUsedCache<SHA256Digest, String>(
      maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount))))

  private let failures = Mutex(
    RecentlyUsedCache<SHA256Digest, Timestamp>(
      maximumCount: maximumCount, maximumLength: ByteCount(Int64(maximumCount))))

  package init() {}

  /// The name of a package that was found before; nil otherwise.
  package func knownName(of digest: SHA256Digest) -> String? { names.locked { $0.value(for: digest) } }

  /// Notes that the package could not be read.
  package func noteFailure(of digest: SHA256Digest, at now: Timestamp) {
    failures.locked { $0.insert(now, for: digest, length: ByteCount(1)) }
  }

  /// Whether the package could not be read lately.
  package func hasFailed(_ digest: SHA256Digest, at now: Timestamp) -> Bool {
    failures.locked { $0.value(for: digest) }.map { $0 <= now && now < $0 + Self.pause } ?? false
  }

  /// Where the parts of a file of that length begin: at its start, and at 1 KiB times each power of four.
  static func starts(inFileOf length: Int64) -> [Int64] {
    ([0] + (0...10).map { partLength << (2 * Int64($0)) }).filter { $0 < length }
  }

  /// The name of a package; nil where there is no MD5. Throws what reading throws.
  package func name(of package: OpenPackage) async throws -> String? {
    if let known = names.locked({ $0.value(for: package.digest) }) { return known }
    var bytes: [UInt8] = []
    for start in Self.starts(inFileOf: package.length) {
      bytes += try await package.file.bytes(in: start..<min(package.length, start + Self.partLength))
    }
    guard let name = MD5.hexadecimal(of: bytes) else { return nil }
    names.locked { $0.insert(name, for: package.digest, length: ByteCount(1)) }
    return name
  }
}
