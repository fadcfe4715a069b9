import ContentPackage

/// Goes through the files of a publication, in a folder or an archive of any kind, and tells its pages. There is one rule for all of
/// them: a page is a picture by its first bytes, has the ending of one, and belongs to no system and is not
/// hidden. Files are added one by one, in any order.
struct PublicationSurvey {
  /// One file, and what its reader is asked about it.
  struct File {
    /// The path, segments separated by `/`.
    let path: String
    let length: UInt64
    /// The format of the picture by its first bytes; nil for no picture, and for a file that is not called
    /// like one.
    let picture: PictureFormat?
  }

  /// Pages in no order yet.
  private var pages: [String] = []
  /// Everything that belongs to the publication, pages and others.
  private(set) var files: [String] = []
  /// The files that are called like a page and are none, and leftovers of operating systems.
  private(set) var leftOut: [SkippedSource] = []
  private(set) var oddities: [PublicationOddity] = []
  private var systemPaths: Set<String> = []

  /// A leftover of a system is noted once for its folder, and is no file of the publication.
  mutating func add(_ file: File) {
    if let found = SystemName.first(in: file.path) {
      if systemPaths.insert(found.path).inserted {
        leftOut.append(SkippedSource(path: found.path, reason: found.reason))
      }
      return
    }
    files.append(file.path)
    guard let promised = FileName(at: file.path).promisedPicture else { return }
    if SystemName.isHidden(file.path) {
      leftOut.append(SkippedSource(path: file.path, reason: .hidden))
    } else if file.length == 0 {
      leftOut.append(SkippedSource(path: file.path, reason: .emptyPicture))
    } else if let picture = file.picture {
      pages.append(file.path)
      if picture != promised {
        oddities.append(
          PublicationOddity(
            path: file.path, "its bytes are \(picture.rawValue), its name says \(promised.rawValue)"))
      }
    } else {
      leftOut.append(SkippedSource(path: file.path, reason: .notAPicture))
    }
  }

  mutating func note(_ oddity: PublicationOddity) {
    oddities.append(oddity)
  }

  /// The pages as they are read. In ``NaturalOrder``. Sorts anew with each call.
  func pagesInOrder() -> [String] { NaturalOrder.sorted(pages) { $0 } }

  /// The folder that all files lie in, with a slash at its end; empty when there is none. People pack folders, not what
  /// is in them.
  var wrappingFolder: String {
    guard let first = files.first else { return "" }
    var common = first.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).dropLast()
    for file in files.dropFirst() where !common.isEmpty {
      let folders = file.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).dropLast()
      let count = zip(common, folders).prefix { $0.elementsEqual($1) }.count
      common = common.prefix(count)
    }
    return common.map { String(Substring($0)) + "/" }.joined()
  }
}
