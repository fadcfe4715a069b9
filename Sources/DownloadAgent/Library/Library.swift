import Commerce
import ContentPackage
import CoreTypes
import Glibc
import PullboxAPI
import SystemCalls

/// The placed content: `PRODUCT/VERSION/` in one directory, and its records. Content comes in by a rename and
/// goes out by one, so that a reader never sees half of it. Every call blocks.
struct Library: Sendable {
  let paths: StatePaths
  let database: AgentDatabase

  /// The directory that a version is placed as.
  func directory(of product: ProductIdentifier, version: ContentVersion) -> String {
    "\(paths.library)/\(product.description)/\(version.description)"
  }

  /// Makes the directories, drops the records of items that were removed by other programs, and empties the
  /// trash.
  func recover() throws {
    try FileSystem.createDirectories(paths.library)
    try FileSystem.createDirectories(paths.staging, permissions: 0o700)
    try FileSystem.removeRecursively(paths.trash)
    for item in try database.libraryItems() where try FileSystem.status(of: item.path) == nil {
      try database.removeLibraryItem(item)
    }
  }

  /// Removes staging areas and small files of jobs that are not in `live`.
  func discardLeftovers(except live: Set<ContentJobIdentifier>) throws {
    for directory in [paths.staging, paths.downloads]
    where try FileSystem.status(of: directory) != nil {
      for entry in try FileSystem.list(directory) {
        if let identifier = ContentJobIdentifier(entry.name), live.contains(identifier) { continue }
        try FileSystem.removeRecursively("\(directory)/\(entry.name)")
      }
    }
  }

  func discard(_ job: ContentJobIdentifier) throws {
    let paths = paths.paths(of: job)
    try FileSystem.removeRecursively(paths.staging)
    try FileSystem.removeRecursively(paths.state)
  }

  /// The item that holds the content of `terms`, if it is really there: the product's own, or one made by
  /// linking the files of another product that came in the same package, where `fromOthers` allows that: a
  /// publisher of one product need not be a publisher of the other.
  func reuse(
    _ terms: DownloadTerms, now: Timestamp, fromOthers: Bool
  ) throws -> LibraryItem? {
    if let own = try database.libraryItem(of: terms.product, version: terms.version),
      own.digest == terms.digest,
      try FileSystem.status(of: own.path) != nil
    {
      return own
    }
    guard fromOthers else { return nil }
    guard let item = try database.libraryItem(digest: terms.digest) else { return nil }
    guard try FileSystem.status(of: item.path) != nil else {
      try database.removeLibraryItem(item)
      return nil
    }
    if item.product == terms.product, item.version == terms.version { return item }
    let source = directory(of: item.product, version: item.version)
    let target = directory(of: terms.product, version: terms.version)
    let staging = paths.paths(of: ContentJobIdentifier.random()).staging
    try FileSystem.createDirectories(FileSystem.parent(of: target))
    try HardLinkTree.make(at: staging, from: source)
    try moveAside(target)
    try FileSystem.rename(staging, to: target, ifPresent: .refuse)
    try FileSystem.synchronizeDirectory(FileSystem.parent(of: target))
    var linked = item
    linked.product = terms.product
    linked.version = terms.version
    linked.path = target + item.path.dropFirst(source.count)
    linked.placedAt = now
    try database.saveLibraryItem(linked)
    return linked
  }

  /// The manifest and the directory of the version that the server says this device has completed; nil when
  /// it is not there any more.
  func previous(to terms: DownloadTerms) throws -> (manifest: Manifest, path: String)? {
    guard let previous = terms.previous,
      let item = try database.libraryItem(of: terms.product, version: previous.version),
      item.digest == previous.digest,
      let bytes = try database.libraryManifest(item),
      // A damaged manifest only costs what it would have saved.
      let manifest = try? UnverifiedManifest(bytes).proposed(), manifest.digest == item.digest
    else { return nil }
    return (manifest, directory(of: item.product, version: item.version))
  }

  /// Removes every version of the product, and returns the removed items.
  func remove(_ product: ProductIdentifier) throws -> [LibraryItem] {
    let items = try database.libraryItems().filter { $0.product == product }
    for item in items {
      try moveAside(directory(of: item.product, version: item.version))
      try database.removeLibraryItem(item)
    }
    try FileSystem.removeRecursively(paths.trash)
    return items
  }

  /// Moves what is at `path` to the trash, so that the name is free.
  func moveAside(_ path: String) throws(SystemError) {
    guard try FileSystem.status(of: path) != nil else { return }
    try FileSystem.createDirectories(paths.trash, permissions: 0o700)
    try FileSystem.rename(path, to: "\(paths.trash)/\(DownloadIdentifier.random())")
    try FileSystem.synchronizeDirectory(FileSystem.parent(of: path))
  }

  /// How much may be written to the library's file system.
  func freeSpace() throws(SystemError) -> ByteCount {
    try FileSystem.freeSpace(at: paths.library)
  }
}

/// A second tree of directories whose files are those of the first: no byte is copied.
enum HardLinkTree {
  /// Deeper than any package can be: its paths have 1024 bytes.
  private static let maximumDepth = 512

  /// Makes the directory `path`, which must not exist, like `source`. Anything but files and directories is
  /// left out.
  static func make(at path: String, from source: String) throws(SystemError) {
    try FileSystem.createDirectory(path)
    try link(try Directory(opening: source), into: try Directory(opening: path), depth: 0)
  }

  private static func link(
    _ source: borrowing Directory, into target: borrowing Directory, depth: Int
  ) throws(SystemError) {
    guard depth < maximumDepth else { throw SystemError(number: ELOOP, call: "linkat") }
    for entry in try source.entries() {
      switch entry.kind {
      case .regular: try target.link(entry.name, to: entry.name, of: source)
      case .directory:
        let inner = try target.subdirectory(creating: entry.name)
        try link(try source.subdirectory(entry.name), into: inner, depth: depth + 1)
      case .symbolicLink, .other: break
      }
    }
    try target.synchronize()
  }
}
