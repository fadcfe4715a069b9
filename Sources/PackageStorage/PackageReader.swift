package import BlobStore
package import CoreTypes

/// Reads a stored package where it lies, for a comparison with the digest that is its name.
package protocol PackageReader: Sendable {
  /// Which file or object it is.
  var identity: PackageIdentity { get }
  /// Bytes of the package as it lies there.
  var length: ByteCount { get }

  /// Lets what is read from now on come from where the package lies, and not from a cache of this machine. A reader whose bytes come from there
  /// anyway does nothing, and so does one whose file the kernel keeps for others.
  func forgetCached() async

  /// Returns up to `count` bytes; none at the end. Throws `notFound` where the package was removed meanwhile, `unreadable` where these
  /// bytes cannot be read, and `unreachable`.
  func bytes(from position: ByteCount, upTo count: Int) async throws(BlobStoreError) -> [UInt8]
}

/// Tells a stored package from one that was put there in its place: another one may have other bytes.
package struct PackageIdentity: Hashable, Sendable {
  private let text: String

  /// `text` is made of what changes when the package is replaced.
  package init(_ text: String) {
    self.text = text
  }
}
