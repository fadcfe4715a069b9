package import Commerce
package import CoreTypes
import ServiceRuntime

/// The server's title and cover of a product that has arrived by itself, shown before its content is here and after.
package struct KeptListing: Hashable, Sendable {
  /// Bytes of a title. A longer one is none.
  static let maximumTitleLength = 1024

  /// In the reader's language; nil until the server has told, or where it has told none.
  package var title: String?
  /// The file's name beside the manifests; nil where there is none.
  package var cover: String?
  /// Where the server has the cover that was asked for last.
  package var coverURL: String?
  /// The language in which the server was asked last.
  package var locale: String?
  /// The publication that it is an issue of; nil for none, and until the server has told.
  package var publication: ProductIdentifier?
  /// When the issue appeared; nil where that is not known.
  package var published: Timestamp?

  package init(
    title: String? = nil, cover: String? = nil, coverURL: String? = nil, locale: String? = nil,
    publication: ProductIdentifier? = nil, published: Timestamp? = nil
  ) {
    self.title = title
    self.cover = cover
    self.coverURL = coverURL
    self.locale = locale
    self.publication = publication
    self.published = published
  }

  /// The text on one line, without what makes it read as another. Nil for one that is too long, and where nothing is left.
  package static func title(_ text: String) -> String? {
    guard text.utf8.count <= maximumTitleLength else { return nil }
    let line = PlainText.line(text)
    return line.allSatisfy(\.isWhitespace) ? nil : line
  }
}

/// The server's title of a publication that issues of the library belong to.
package struct KeptPublication: Hashable, Sendable {
  package var title: String
  /// The language in which the server was asked.
  package var locale: String?

  package init(title: String, locale: String? = nil) {
    self.title = title
    self.locale = locale
  }
}

/// A picture, by what its bytes begin with: a server, or a proxy before it, may call anything a picture.
package struct CoverPicture: Sendable {
  /// The formats of publishers' covers.
  package enum Format: String, CaseIterable, Sendable {
    case avif
    case gif
    case jpeg = "jpg"
    case png
    case webp

    /// Nil for what is none of them.
    package init?(of bytes: [UInt8]) {
      func has(_ text: String, at offset: Int) -> Bool {
        bytes.dropFirst(offset).starts(with: text.utf8)
      }
      if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
        self = .jpeg
      } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
        self = .png
      } else if has("GIF87a", at: 0) || has("GIF89a", at: 0) {
        self = .gif
      } else if has("RIFF", at: 0), has("WEBP", at: 8) {
        self = .webp
      } else if has("ftypavif", at: 4) || has("ftypavis", at: 4) {
        self = .avif
      } else {
        return nil
      }
    }
  }

  /// A longer one is none.
  package static let maximumLength = ByteCount.kibibytes(256)

  package let bytes: [UInt8]
  package let format: Format

  /// Nil for what is no picture, or too long.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= Int(Self.maximumLength.rawValue), let format = Format(of: bytes) else { return nil }
    self.bytes = bytes
    self.format = format
  }

  /// The file's name beside the manifests.
  package var fileName: String { "cover.\(format.rawValue)" }

  /// Whether a file beside the manifests is a cover.
  package static func isFileName(_ name: String) -> Bool {
    Format.allCases.contains { name == "cover.\($0.rawValue)" }
  }
}
