import CoreTypes
public import SystemCalls

/// Content that is whole, verified and durable, and not visible to readers yet.
public struct StagedContent: ~Copyable, Sendable {
  /// What is staged, from the verified manifest.
  public let manifest: Manifest
  let stagingPath: String

  /// Makes the content visible at `path`, all of it or nothing, durably, and removes the staging area. Directories above
  /// are made. Throws an error whose `isFileInTheWay` is true when something is there already; the content then stays
  /// staged.
  public consuming func place(at path: String) throws(SystemError) -> PlacedContent {
    let parent = FileSystem.parent(of: path)
    try FileSystem.createDirectories(parent)
    try FileSystem.rename("\(stagingPath)/\(StagingArea.treeName)", to: path, ifPresent: .refuse)
    try FileSystem.synchronizeDirectory(parent)
    try StagingArea.discard(at: stagingPath)
    return PlacedContent(manifest: manifest, path: path)
  }
}

/// Content at its place in the library.
public struct PlacedContent: Sendable {
  /// What was placed, from the verified manifest.
  public let manifest: Manifest
  /// The directory that holds the files.
  public let path: String

  init(manifest: Manifest, path: String) {
    self.manifest = manifest
    self.path = path
  }

  /// What a reader opens: the file of a package of kind file, else the directory.
  public var contentPath: String { manifest.name.map { "\(path)/\($0)" } ?? path }

  /// The content that an earlier process placed at `path`; nil when nothing is there. To be asked before a staging area is
  /// opened again: placing takes the files out of it. Placing is atomic, so only files that another program removed or cut are
  /// looked for, by their lengths; ``verify()`` looks at every byte. Throws ``PackageValidationError`` naming those.
  public static func find(at path: String, manifest: Manifest) throws -> PlacedContent? {
    guard try FileSystem.status(of: path) != nil else { return nil }
    let directory = try Directory(opening: path)
    let faults = try manifest.files.compactMap { file -> PackageValidationIssue? in
      guard try directory.lengthOfFile(at: file.path) != file.length.rawValue else { return nil }
      return PackageValidationIssue(
        .fileLengthMismatch, path: file.path.text, "missing, or of another length")
    }
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    return PlacedContent(manifest: manifest, path: path)
  }

  /// Reads every file; answers those that are not the manifest's. Blocks.
  public func verify() throws -> [PackageValidationIssue] {
    let directory = try Directory(opening: path)
    return try manifest.files.compactMap { file in
      guard try directory.lengthOfFile(at: file.path) == file.length.rawValue else {
        return PackageValidationIssue(
          .fileLengthMismatch, path: file.path.text, "missing, or of another length")
      }
      let digest = try FileDigest.of(try directory.openFile(at: file.path), in: 0..<file.length.rawValue)
      guard digest != file.digest else { return nil }
      return PackageValidationIssue(
        .fileDigestMismatch, path: file.path.text, "not the bytes the manifest lists")
    }
  }
}
