import CoreTypes
import Files
public import SystemCalls

/// Content that is whole, verified and durable, and not visible to readers yet.
public struct StagedContent: ~Copyable, Sendable {
  /// The verified manifest of the content that is staged.
  public let manifest: Manifest
  /// The files, by their number in the manifest, that other content had or has under a name of its own. By that name they may
  /// have been changed since they were compared.
  public let shared: Set<Int>
  let stagingPath: String
  let operations: any FileOperations

  /// Makes the content visible at `path`, all of it or nothing, durably, and removes the staging area. The directory
  /// above has to be there. Throws an error whose `isFileInTheWay` is true when something is there already; the content then stays
  /// staged.
  public consuming func place(at path: String) throws(SystemError) {
    let parent = FileSystem.parent(of: path)
    let tree = "\(stagingPath)/\(StagingArea.treeName)"
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
  }
}
