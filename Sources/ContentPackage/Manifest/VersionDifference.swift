public import CoreTypes
import Crypto

/// The files and pieces of a version that a device with another version needs. Pure.
///
/// A file counts as kept when the older version has one of the same digest, whatever its path. Bytes travel
/// by pieces: a piece is needed when it holds a byte of a file that is not kept. A package of a single file
/// is one file, and its pieces are kept instead.
public struct VersionDifference: Hashable, Sendable {
  /// Files of the newer version, in its order.
  public let keptFiles: [ManifestFile]
  /// Files of the newer version whose bytes the older one has nowhere, in the newer version's order.
  public let fetchedFiles: [ManifestFile]
  /// Files of the older version whose bytes the newer one has nowhere.
  public let removedFiles: [ManifestFile]
  /// The pieces of the newer version that have to be fetched, ascending.
  public let neededPieces: [Int]
  /// Bytes of the needed pieces: what travels.
  public let fetchedLength: ByteCount
  /// The rest of the newer package.
  public let keptLength: ByteCount
  /// Pieces of the newer package that the older one has too, anywhere.
  public let samePieces: Int

  /// Compares two versions of one product by their manifests alone.
  public init(from older: Manifest, to newer: Manifest) {
    let (oldFiles, newFiles) = (Set(older.files.map(\.digest)), Set(newer.files.map(\.digest)))
    let oldPieces = Set(older.pieces)
    keptFiles = newer.files.filter { oldFiles.contains($0.digest) }
    let fetched = newer.files.filter { !oldFiles.contains($0.digest) }
    fetchedFiles = fetched
    removedFiles = older.files.filter { !newFiles.contains($0.digest) }
    samePieces = newer.pieces.count { oldPieces.contains($0) }

    let layout = newer.layout
    var needed = Set(fetched.flatMap { layout.pieces(holding: $0.storedRange) })
    if older.kind == .file, newer.kind == .file {
      needed = needed.filter { !oldPieces.contains(newer.pieces[$0]) }
    }
    neededPieces = needed.sorted()
    fetchedLength = neededPieces.reduce(.zero) { $0 + ByteCount(layout.length(of: $1)) }
    keptLength = newer.length - fetchedLength
  }
}

/// How the files of two versions differ, path by path. Pure. What a device has to fetch is ``VersionDifference``'s.
public struct FileChanges: Hashable, Sendable {
  /// Same path, same content.
  public let unchanged: Int
  /// Same path, other content.
  public let changed: Int
  /// At paths that the older version does not have. One that was only renamed is one added and one removed.
  public let added: Int
  /// At paths that the newer version does not have.
  public let removed: Int

  /// Compares the files of two versions, path by path.
  public init(from older: Manifest, to newer: Manifest) {
    let digests = Dictionary(
      older.files.map { ($0.path, $0.digest) }, uniquingKeysWith: { first, _ in first })
    var (unchanged, changed, added) = (0, 0, 0)
    for file in newer.files {
      switch digests[file.path] {
      case file.digest: unchanged += 1
      case .some: changed += 1
      case nil: added += 1
      }
    }
    (self.unchanged, self.changed, self.added) = (unchanged, changed, added)
    removed = older.files.count - unchanged - changed
  }
}
