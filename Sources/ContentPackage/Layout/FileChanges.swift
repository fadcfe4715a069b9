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
