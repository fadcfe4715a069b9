/// A picture's format, told by its first bytes and never by its name.
public enum PictureFormat: String, Hashable, Sendable, CaseIterable {
  case jpeg = "JPEG"
  case png = "PNG"
  case gif = "GIF"
  case webP = "WebP"
  case avif = "AVIF"
  case heif = "HEIF"
  case jpegXL = "JPEG XL"
  case jpeg2000 = "JPEG 2000"
  case bmp = "BMP"
  case tiff = "TIFF"
  case svg = "SVG"

  /// Bytes from the front of a file that are looked at, at most.
  public static let startLength = 4096

  /// Nil when a file that starts with `start` is no picture. Up to ``startLength`` bytes are looked at. A
  /// picture that is damaged further on is still one.
  public init?(startOf start: some Collection<UInt8>) {
    let start = Array(start.prefix(Self.startLength))
    if let format = Self.signatures.first(where: { start.starts(with: $0.bytes) })?.format {
      self = format
    } else if let format = Self.container(start) {
      self = format
    } else if Self.isBitmap(start) {
      self = .bmp
    } else if Self.isVector(start) {
      self = .svg
    } else {
      return nil
    }
  }

  /// The media type under which browsers show it; nil where not all of them do, and for what a browser would run.
  public var previewMediaType: String? {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webP: "image/webp"
    case .avif: "image/avif"
    case .heif, .jpegXL, .jpeg2000, .bmp, .tiff, .svg: nil
    }
  }

  /// The format that an ending of a file's name promises, in lower case; nil for an ending that is no picture's.
  package static func promised(by ending: String) -> PictureFormat? { endings[ending] }

  private static let endings: [String: PictureFormat] = [
    "jpg": .jpeg, "jpeg": .jpeg, "jpe": .jpeg, "jfif": .jpeg, "jif": .jpeg, "png": .png, "gif": .gif,
    "webp": .webP, "avif": .avif, "jxl": .jpegXL, "heic": .heif, "heif": .heif, "jp2": .jpeg2000,
    "bmp": .bmp, "tif": .tiff, "tiff": .tiff, "svg": .svg,
  ]

  /// From the front of the file; containers and what needs more than that are told apart below.
  private static let signatures: [(bytes: [UInt8], format: PictureFormat)] = [
    ([0xFF, 0xD8, 0xFF], .jpeg),
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png),
    (Array("GIF87a".utf8), .gif), (Array("GIF89a".utf8), .gif),
    ([0xFF, 0x0A], .jpegXL),
    ([0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A], .jpegXL),
    ([0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A], .jpeg2000),
    ([0xFF, 0x4F, 0xFF, 0x51], .jpeg2000),
    ([0x49, 0x49, 0x2A, 0], .tiff), ([0x4D, 0x4D, 0, 0x2A], .tiff),
    ([0x49, 0x49, 0x2B, 0], .tiff), ([0x4D, 0x4D, 0, 0x2B], .tiff),
  ]

  private static let avifBrands: Set<String> = ["avif", "avis"]
  private static let heifBrands: Set<String> = [
    "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1",
  ]

  /// WebP in RIFF; AVIF and HEIF by the brands of their first box, of which `avif` counts wherever it stands.
  private static func container(_ start: [UInt8]) -> PictureFormat? {
    guard start.count >= 12 else { return nil }
    if start.starts(with: Array("RIFF".utf8)), start[8..<12].elementsEqual("WEBP".utf8) { return .webP }
    guard start[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let length = min(start.count, start[..<4].reduce(0) { $0 << 8 | Int($1) })
    let brands = stride(from: 8, to: max(8, length - 3), by: 4).filter { $0 != 12 }
      .map { String(decoding: start[$0..<$0 + 4], as: UTF8.self) }
    if brands.contains(where: avifBrands.contains) { return .avif }
    return brands.first.map(heifBrands.contains) == true ? .heif : nil
  }

  /// `BM` alone could start a text: the length of the header behind it is one of few.
  private static func isBitmap(_ start: [UInt8]) -> Bool {
    guard start.count >= 18, start.starts(with: Array("BM".utf8)) else { return false }
    return [12, 40, 52, 56, 64, 108, 124].contains(start.littleEndian(at: 14, as: UInt32.self))
  }

  /// The first bytes of white space, of the byte order mark and of `<`, in UTF-8.
  private static let markupStarts: Set<UInt8> = [
    0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x3C, 0xC2, 0xE1, 0xE2, 0xE3, 0xEF,
  ]

  /// Markup whose root is `svg`, as far as the start shows it.
  private static func isVector(_ start: [UInt8]) -> Bool {
    // Most files begin with another byte, and are not read as text.
    guard let first = start.first, markupStarts.contains(first) else { return false }
    let text = String(decoding: start, as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    guard text.first == "<" else { return false }
    return text.contains("<svg") || text.contains(":svg")
  }
}
