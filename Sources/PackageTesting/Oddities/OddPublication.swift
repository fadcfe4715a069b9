import ContentPackage

/// A publication with one oddity, and what must come of it. The expected values are written by hand.
package struct OddPublication: Sendable {
  package enum Source: Sendable {
    case folder([(path: String, content: [UInt8])])
    case file(name: String, [UInt8])
  }

  package struct Expected: Sendable {
    package var title: String?
    package var pages: Int?
    /// The pages, where their order is what is odd.
    package var order: [String]?
    package var cover: String?
    package var type = "application/zip"
    /// Paths and reasons, in any order: "Thumbs.db systemFile".
    package var leftOut: Set<String> = []
    /// How many oddities are told.
    package var oddities = 0
    /// The files of a folder that are packed, where not all are.
    package var packed: [String]?
  }

  package enum Outcome: Sendable {
    case taken(Expected)
    /// Codes and paths: "path-unsafe ../x".
    case refused([String])
    /// It is no publication: it is delivered by the operator's word only, as that type.
    case needsWord(clause: String, type: String)
  }

  /// The source of the oddity and its name, such as "macOS: resource forks in __MACOSX".
  package let name: String
  package let source: Source
  package let outcome: Outcome

  /// Returns a publication in a folder that is packed. `change` sets the values of the expected result that
  /// differ from the usual ones.
  static func folder(
    _ name: String, _ files: [(path: String, content: [UInt8])], _ change: (inout Expected) -> Void
  ) -> OddPublication {
    var expected = Expected()
    change(&expected)
    return OddPublication(name: name, source: .folder(files), outcome: .taken(expected))
  }

  static func comic(
    _ name: String, called file: String = "issue.cbz", _ zip: ZipMaker, _ change: (inout Expected) -> Void
  ) -> OddPublication {
    var expected = Expected()
    expected.type = "application/vnd.comicbook+zip"
    change(&expected)
    return OddPublication(name: name, source: .file(name: file, zip.bytes), outcome: .taken(expected))
  }

  static func file(
    _ name: String, called file: String, _ bytes: [UInt8], type: String,
    _ change: (inout Expected) -> Void = { _ in }
  ) -> OddPublication {
    var expected = Expected()
    expected.type = type
    change(&expected)
    return OddPublication(name: name, source: .file(name: file, bytes), outcome: .taken(expected))
  }

  static func refused(
    _ name: String, called file: String = "issue.cbz", _ zip: ZipMaker, _ faults: String...
  ) -> OddPublication {
    OddPublication(name: name, source: .file(name: file, zip.bytes), outcome: .refused(faults))
  }

  static func needsWord(
    _ name: String, called file: String, _ bytes: [UInt8], _ clause: String,
    type: String = "application/octet-stream"
  ) -> OddPublication {
    OddPublication(
      name: name, source: .file(name: file, bytes), outcome: .needsWord(clause: clause, type: type))
  }

  package static let all: [OddPublication] =
    ofSystems + ofNames + ofOrder + ofArchives + ofComicTools + ofBooks + ofFormats
}

extension OddPublication: CustomStringConvertible {
  package var description: String { name }
}

/// A page of each format, by its first bytes.
enum PageBytes {
  static func png(_ number: Int) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + noise(40, seed: UInt64(number) + 100)
  }

  static func box(_ brand: String) -> [UInt8] { [0, 0, 0, 16] + Array("ftyp\(brand)".utf8) + [0, 0, 0, 0] }

  static let appleDouble: [UInt8] = [0, 0x05, 0x16, 0x07, 0, 2, 0, 0] + Array("Mac OS X        ".utf8)

  static func comicInfo(_ title: String, _ rest: String = "") -> [UInt8] {
    Array("<?xml version=\"1.0\"?><ComicInfo><Title>\(title)</Title>\(rest)</ComicInfo>".utf8)
  }
}

extension Array where Element == ZipMaker.Entry {
  /// Three pages, `1.jpg` to `3.jpg`.
  static var pages: [ZipMaker.Entry] { (1...3).map { .init("\($0).jpg", jpeg($0)) } }
}
