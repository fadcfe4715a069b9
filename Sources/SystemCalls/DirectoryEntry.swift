/// A name in a directory.
public struct DirectoryEntry: Hashable, Sendable {
  public let name: String
  public let kind: FileStatus.Kind

  public init(name: String, kind: FileStatus.Kind) {
    self.name = name
    self.kind = kind
  }
}
