import ContentPackage

/// A publication with one oddity, and what must come of it. The expected values are written by hand.
package struct OddPublication: Sendable {
  /// The form in which the publisher has it.
  package enum Source: Sendable {
    /// A folder to be packed, with the files in it.
    case folder([(path: String, content: [UInt8])])
    /// A single file that is published as it is.
    case file(name: String, [UInt8])
  }

  /// The result for a publication that is taken. Members that say nothing expect the usual: nothing left out, nothing
  /// odd.
  package struct Expected: Sendable {
    /// The title as readers show it, from metadata; nil where nothing names one.
    package var title: String?
    /// The number of pages; nil where they cannot be counted.
    package var pages: Int?
    /// The pages, where their order is what is odd.
    package var order: [String]?
    /// The path of the cover; nil for none.
    package var cover: String?
    /// The media type of the package: that of a packed folder unless said otherwise.
    package var type = "application/zip"
    /// Paths and reasons, in any order: "Thumbs.db systemFile".
    package var leftOut: Set<String> = []
    /// How many oddities are told.
    package var oddities = 0
    /// The files of a folder that are packed, where not all are.
    package var packed: [String]?
  }

  /// The end of packing or describing the source.
  package enum Outcome: Sendable {
    /// The publication is packed, and looks like that.
    case taken(Expected)
    /// Codes and paths: "path-unsafe ../x".
    case refused([String])
    /// It is no publication: it is delivered by the operator's word only, as that type.
    case needsWord(clause: String, type: String)
  }

  /// The source of the oddity and its name, such as "macOS: resource forks in __MACOSX".
  package let name: String
  /// The bytes that the packer gets.
  package let source: Source
  /// The end that the test compares with.
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

  /// A comic as a ZIP archive, which is published as it is. `change` sets what is expected beside the type.
  static func comic(
    _ name: String, called file: String = "issue.cbz", _ zip: ZipMaker, _ change: (inout Expected) -> Void
  ) -> OddPublication {
    var expected = Expected()
    expected.type = "application/vnd.comicbook+zip"
    change(&expected)
    return OddPublication(name: name, source: .file(name: file, zip.bytes), outcome: .taken(expected))
  }

  /// A single file of that type.
  static func file(
    _ name: String, called file: String, _ bytes: [UInt8], type: String,
    _ change: (inout Expected) -> Void = { _ in }
  ) -> OddPublication {
    var expected = Expected()
    expected.type = type
    change(&expected)
    return OddPublication(name: name, source: .file(name: file, bytes), outcome: .taken(expected))
  }

  /// An archive that is refused with exactly these faults, each a code and a path.
  static func refused(
    _ name: String, called file: String = "issue.cbz", _ zip: ZipMaker, _ faults: String...
  ) -> OddPublication {
    OddPublication(name: name, source: .file(name: file, zip.bytes), outcome: .refused(faults))
  }

  /// A file that is no publication by its bytes; `clause` is how the program calls it.
  static func needsWord(
    _ name: String, called file: String, _ bytes: [UInt8], _ clause: String,
    type: String = "application/octet-stream"
  ) -> OddPublication {
    OddPublication(
      name: name, source: .file(name: file, bytes), outcome: .needsWord(clause: clause, type: type))
  }

  /// All publications. Their names differ and name the cases of parameterized tests.
  package static let all: [OddPublication] =
    ofSystems + ofNames + ofOrder + ofArchives + ofComicTools + ofBooks + ofFormats
}

/// The name alone, so that a failed case does not print its bytes.
extension OddPublication: CustomStringConvertible {
  package var description: String { name }
}

/// A page of each format, by its first bytes.
enum PageBytes {
  /// The signature of PNG and bytes that differ for each number; no picture could be decoded from it.
  static func png(_ number: Int) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + noise(40, seed: UInt64(number) + 100)
  }

  /// The first box of the ISO base media file format (ISO/IEC 14496-12) with that brand.
  static func box(_ brand: String) -> [UInt8] { [0, 0, 0, 16] + Array("ftyp\(brand)".utf8) + [0, 0, 0, 0] }

  /// The header of an AppleDouble file (RFC 1740), in which macOS keeps a resource fork.
  static let appleDouble: [UInt8] = [0, 0x05, 0x16, 0x07, 0, 2, 0, 0] + Array("Mac OS X        ".utf8)

  /// A ComicInfo.xml with that title. Both arguments are put in as they are, so that they may hold markup.
  static func comicInfo(_ title: String, _ rest: String = "") -> [UInt8] {
    Array("<?xml version=\"1.0\"?><ComicInfo><Title>\(title)</Title>\(rest)</ComicInfo>".utf8)
  }
}

/// The pages that most archives here have.
extension Array where Element == ZipMaker.Entry {
  /// Three pages, `1.jpg` to `3.jpg`.
  static var pages: [ZipMaker.Entry] { (1...3).map { .init("\($0).jpg", jpeg($0)) } }
}
