package import Commerce
package import ContentPackage
package import CoreTypes
package import Crypto
package import PullboxAPI

/// The agent's record of a placed version of a product.
package struct LibraryRecord: Hashable, Sendable {
  package let product: ProductIdentifier
  package let version: ContentVersion
  /// The file that a package of kind file was placed as; nil for a folder.
  package var name: String?
  /// The package's.
  package var digest: SHA256Digest
  /// Nil for content that an earlier version of the agent placed without a manifest.
  package var manifestDigest: SHA256Digest?
  /// The length of the files together, as the manifest says.
  package var length: ByteCount
  /// The space that the files took on the device at the last check.
  package var sizeOnDisk: ByteCount
  package var placedAt: Timestamp
  package var title: String?
  /// When a reader was last seen to have opened it.
  package var lastOpened: Timestamp?
  /// Never removed to make room.
  package var isPinned = false
  /// The last check found bytes that are not the manifest's, or bytes missing.
  package var isDamaged = false
  /// The server has gone back to a version before it.
  package var isRolledBack = false
  /// The reader has gone back to a version before it.
  package var isGoneBack = false
  /// Its content belongs out of the tree that readers see.
  package var isWithdrawn = false
  /// The sections that are here, the required ones among them; nil where everything is.
  package var sections: Set<SectionTag>?

  /// Creates the record of content that was placed at `placedAt`, from its manifest. `listedTitle` is the server's title,
  /// for a manifest without one.
  package init(_ manifest: Manifest, placedAt: Timestamp, sizeOnDisk: ByteCount, listedTitle: String? = nil) {
    self.init(
      product: manifest.product, version: manifest.version, name: manifest.name, digest: manifest.digest,
      manifestDigest: manifest.manifestDigest, length: manifest.unpackedLength, sizeOnDisk: sizeOnDisk,
      placedAt: placedAt, title: manifest.displayTitle ?? listedTitle, sections: manifest.selection)
  }

  package init(
    product: ProductIdentifier, version: ContentVersion, name: String?, digest: SHA256Digest,
    manifestDigest: SHA256Digest?, length: ByteCount, sizeOnDisk: ByteCount, placedAt: Timestamp,
    title: String?, lastOpened: Timestamp? = nil, isPinned: Bool = false, isDamaged: Bool = false,
    isRolledBack: Bool = false, isGoneBack: Bool = false, isWithdrawn: Bool = false,
    sections: Set<SectionTag>? = nil
  ) {
    self.product = product
    self.version = version
    self.name = name
    self.digest = digest
    self.manifestDigest = manifestDigest
    self.length = length
    self.sizeOnDisk = sizeOnDisk
    self.placedAt = placedAt
    self.title = title
    self.lastOpened = lastOpened
    self.isPinned = isPinned
    self.isDamaged = isDamaged
    self.isRolledBack = isRolledBack
    self.isGoneBack = isGoneBack
    self.isWithdrawn = isWithdrawn
    self.sections = sections
  }

  /// Whether an earlier version is read in place of it.
  package var isLeft: Bool { isRolledBack || isGoneBack }

  /// For what was opened never: when it came.
  var lastUse: Timestamp { max(lastOpened ?? placedAt, placedAt) }

  /// The version's directory and, for a single file, its name, below the library: where readers find it, also while it is withdrawn.
  package var relativePath: String { "\(product)/\(version)" + (name.map { "/\($0)" } ?? "") }

  /// The name of the single file in a path that an earlier version of the agent recorded: it held the library's own path as
  /// well. Nil for a folder.
  package static func name(in path: String, product: ProductIdentifier, version: ContentVersion) -> String? {
    let parts = path.split(separator: "/").suffix(3).map(String.init)
    return parts.count == 3 && parts[0] == product.description && parts[1] == version.description
      ? parts[2] : nil
  }

  /// Returns the item that the control interface shows. Its paths are absolute if `library` is.
  package func item(in library: String, isOffline: Bool = false) -> LibraryItem {
    LibraryItem(
      product: product, version: version, path: "\(library)/\(relativePath)", digest: digest, length: length,
      placedAt: placedAt, title: title,
      state: isOffline || isWithdrawn ? .offline : isDamaged ? .damaged : .present,
      lengthOnDisk: sizeOnDisk, lastOpened: lastOpened, pinned: isPinned ? true : nil,
      rolledBack: isLeft ? true : nil, left: isGoneBack && !isRolledBack ? true : nil,
      withdrawn: isWithdrawn ? true : nil)
  }
}

/// The library's file system is not there, or not this agent's: everything that needs it waits.
package struct LibraryOfflineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence for people, without a full stop.
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }

  package var description: String { "the library is offline: \(reason)" }
}
