/// A media type (`application/pdf`), RFC 9110 §8.3.1 without parameters, in lower case.
public struct MediaType: Hashable, Sendable {
  /// The type as it is sent, `type/subtype` in lower case.
  public let text: String

  /// Nil unless `text` is `type/subtype` in lower case, at most 127 bytes.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
    guard text.utf8.count <= 127, parts.count == 2 else { return nil }
    let isToken = parts.allSatisfy { part in
      !part.isEmpty
        && part.allSatisfy { byte in
          switch byte {
          case 0x61...0x7A, 0x30...0x39, 0x21, 0x23, 0x24, 0x26, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F: true
          default: false
          }
        }
    }
    guard isToken else { return nil }
    self.text = text
  }

  /// A type that is known to be well-formed.
  private init(known text: String) {
    self.text = text
  }

  /// A comic book as a ZIP archive of pictures (`.cbz`).
  public static let comicBook = MediaType(known: "application/vnd.comicbook+zip")
  /// A comic book as a RAR archive (`.cbr`).
  public static let comicBookRAR = MediaType(known: "application/vnd.comicbook-rar")
  /// A comic book as a 7z archive (`.cb7`).
  public static let comicBookSevenZip = MediaType(known: "application/x-cb7")
  /// A comic book as a tar archive (`.cbt`).
  public static let comicBookTar = MediaType(known: "application/x-cbt")
  /// A Mobipocket or Kindle book (`.mobi`, `.azw3`).
  public static let mobipocket = MediaType(known: "application/x-mobipocket-ebook")
  /// A DjVu document (`.djvu`).
  public static let djvu = MediaType(known: "image/vnd.djvu")
  /// A FictionBook (`.fb2`).
  public static let fictionBook = MediaType(known: "application/x-fictionbook+xml")
  /// An EPUB publication (`.epub`).
  public static let epub = MediaType(known: "application/epub+zip")
  /// A PDF document (`.pdf`).
  public static let pdf = MediaType(known: "application/pdf")
  /// A packed folder: a ZIP archive.
  public static let archive = MediaType(known: "application/zip")
  /// Bytes of no known type (RFC 2046 §4.5.1).
  public static let bytes = MediaType(known: "application/octet-stream")

  /// The type that goes with the extension of `name`; ``bytes`` for one that is not known.
  public static func guess(forFileNamed name: String) -> MediaType {
    guard let dot = name.lastIndex(of: ".") else { return bytes }
    return switch name[name.index(after: dot)...].lowercased() {
    case "cbz": comicBook
    case "epub": epub
    case "pdf": pdf
    case "zip": archive
    default: bytes
    }
  }
}

extension MediaType: CustomStringConvertible {
  /// The text itself.
  public var description: String { text }
}
