public import SystemCalls
import CoreTypes

/// Content that is whole, verified and durable, but that nobody sees yet.
public struct StagedContent: ~Copyable, Sendable {
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
