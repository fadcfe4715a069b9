/// Something in a source folder that is not packed, on purpose, or in a publication that is no page of it.
public struct SkippedSource: Hashable, Sendable {
  /// Why a file is left out.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// `product.json5` at the root: it describes the product to the server.
    case productDescription
    /// `.DS_Store`, `Thumbs.db`, `desktop.ini` and the like.
    case systemFile
    /// `@eaDir`, `#recycle`, `.thumbnails` and the like, with all that is in them.
    case systemFolder
    /// `__MACOSX` with all that is in it, and files whose names begin with `._`.
    case resourceFork
    /// Directories follow from the files in them.
    case emptyFolder
    /// `ContentInfo.plist`: it says product and version.
    case contentInfo
    /// Beside `Contents` in the hosted-content layout.
    case outsideContents
    /// Hidden by its name or its folder's: it is packed, and is no page.
    case hidden
    /// Called like a picture, without a byte: it is packed, and is no page.
    case emptyPicture
    /// Called like a picture, and none by its bytes: it is packed, and is no page.
    case notAPicture

    /// A clause for people.
    public var clause: String {
      switch self {
      case .productDescription: "it describes the product"
      case .systemFile: "a file manager's own"
      case .systemFolder: "a system's or a file server's own"
      case .resourceFork: "a resource fork of macOS"
      case .emptyFolder: "an empty folder"
      case .contentInfo: "it names product and version"
      case .outsideContents: "outside of Contents"
      case .hidden: "it is hidden"
      case .emptyPicture: "it has no bytes"
      case .notAPicture: "its bytes are no picture"
      }
    }
  }

  /// Where the file lies below the source folder, or in the archive.
  public let path: String
  /// Why it is left out.
  public let reason: Reason

  /// Creates the note.
  public init(path: String, reason: Reason) {
    self.path = path
    self.reason = reason
  }
}
