import CoreTypes
import Crypto
public import SystemCalls

/// Content that is whole, verified and durable, and not visible to readers yet.
public struct StagedContent: ~Copyable, Sendable {
  /// What is staged, from the verified manifest.
  public let manifest: Manifest
  let stagingPath: String
  let operations: any FileOperations

  /// Makes the content visible at `path`, all of it or nothing, durably, and removes the staging area. Directories above
  /// are made. Throws an error whose `isFileInTheWay` is true when something is there already; the content then stays
  /// staged.
  public consuming func place(at path: String) throws(SystemError) -> PlacedContent {
    let parent = FileSystem.parent(of: path)
    let tree = "\(stagingPath)/\(StagingArea.treeName)"
    try operations.createDirectories(parent)
    try operations.rename(tree, to: path, ifPresent: .refuse)
    do {
      try operations.synchronizeDirectory(parent)
    } catch {
      // The first error is the one that explains; moving back is only an attempt on a failing device.
      try? operations.rename(path, to: tree, ifPresent: .refuse)
      throw error
    }
    // The content is placed whether or not its staging area can be cleared away now.
    try? StagingArea.discard(at: stagingPath, operations: operations)
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

  /// The content that an earlier process placed at `path`, and may not have noted down; nil when nothing is there. To be
  /// asked before a staging area is opened again: placing takes the files out of it. Reads every file, and makes the name
  /// durable; throws ``PackageValidationError`` naming the files that are not the manifest's.
  public static func find(
    at path: String, manifest: Manifest, operations: any FileOperations = SystemFileOperations()
  ) throws -> PlacedContent? {
    guard try operations.status(of: path) != nil else { return nil }
    let content = PlacedContent(manifest: manifest, path: path)
    let faults = try content.verify(operations: operations)
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    try operations.synchronizeDirectory(FileSystem.parent(of: path))
    return content
  }

  /// Reads every file; answers those that are not the manifest's. Blocks, and throws `CancellationError` soon after the
  /// task was cancelled.
  public func verify(
    operations: any FileOperations = SystemFileOperations()
  ) throws -> [PackageValidationIssue] {
    let directory = try Directory(opening: path, operations: operations)
    return try manifest.files.compactMap { file in
      guard try directory.lengthOfFile(at: file.path) == file.length.rawValue else {
        return PackageValidationIssue(
          .fileLengthMismatch, path: file.path.text, "missing, or of another length")
      }
      let digest = try directory.hasher(of: file.path, length: file.length.rawValue)?.finalize()
      guard digest != file.digest else { return nil }
      return PackageValidationIssue(
        .fileDigestMismatch, path: file.path.text, "not the bytes the manifest lists")
    }
  }
}
