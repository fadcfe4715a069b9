public import CoreTypes

/// A file of a source folder.
public struct SourceFile: Hashable, Sendable {
  public let path: PackagePath
  public let length: ByteCount
}
