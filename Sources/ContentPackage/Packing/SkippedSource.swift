/// Something in a source folder that is not packed, on purpose.
public struct SkippedSource: Hashable, Sendable {
  public enum Reason: String, Hashable, Sendable {
    /// `product.json5` at the root: it describes the product to the server.
    case productDescription
    /// `.DS_Store`, `Thumbs.db`.
    case systemFile
    /// Directories follow from the files in them.
    case emptyFolder
    /// `ContentInfo.plist`: it says product and version.
    case contentInfo
    /// Beside `Contents` in the hosted-content layout.
    case outsideContents
  }

  public let path: String
  public let reason: Reason
}
