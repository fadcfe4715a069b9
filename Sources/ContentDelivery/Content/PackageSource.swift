package import Crypto
package import HTTPServer
import PullboxAPI
package import ServiceAPI

/// The packages that may be sent, as those who keep them know them. Content is delivered through it without a database of its
/// own: what is asked here is remembered in an ``OpenPackageCache``.
package protocol PackageSource: Sendable {
  /// The package, open for reading; nil where it does not lie there. One that comes in parts has a ``FilePresence``: its bytes are sent
  /// as they come, and no response begins before its first one is there.
  func open(_ digest: SHA256Digest) async throws -> SharedDescriptor?

  /// The manifest of any version with that package; nil where there is none.
  func manifest(of digest: SHA256Digest) async throws -> [UInt8]?

  /// The manifest that a grant of that package promised to its device; nil where there is no such grant, or it is of another
  /// package.
  func manifest(of digest: SHA256Digest, promisedTo grant: DeliveryHandle) async throws -> [UInt8]?

  /// The query with which a proxy reads the package from the object store where it lies, for `seconds` from now on; nil where it
  /// lies in none. It is a secret for so long.
  func readingQuery(of digest: SHA256Digest, seconds: Int) -> String?
}

extension PackageSource {
  /// Packages lie in no object store, unless a source says otherwise.
  package func readingQuery(of digest: SHA256Digest, seconds: Int) -> String? { nil }
}
