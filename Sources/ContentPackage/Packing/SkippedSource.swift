/// Something in a source folder that is not packed, on purpose.
public struct SkippedSource: Hashable, Sendable {
  public enum Reason: String, Hashable, Sendable {
    /// `product.json5` at the root: it describes the product to the server.
    case productDescription
    /// `.DS_Store`, `Thumbs.db`.
    case systemFile
    /// Directories follow from the files in them.
    case emptyFolder
  }

  public let path: String
  public let reason: Reason
}
