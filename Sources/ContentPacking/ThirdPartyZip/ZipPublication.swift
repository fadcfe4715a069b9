import ContentPackage
import CoreTypes
import SystemCalls

/// A ZIP archive of any tool's as a publication: what it is, what it says of itself, and what of it is no page.
struct ZipPublication {
  private(set) var faults: [PackageValidationIssue]
  private(set) var format: PublicationFormat
  /// ``PublicationMetadata/none`` for what is no publication.
  private(set) var metadata = PublicationMetadata.none
  private(set) var survey = PublicationSurvey()

  private let archive: ThirdPartyZipInspection
  /// The first entry of each path. Folders are left out.
  private let entries: [String: ThirdPartyZipEntry]
  private let limits: PackageLimits

  /// Reads all of the archive where its names could be a publication's, or it is called like one; blocks.
  init(
    _ archive: ThirdPartyZipInspection, in file: borrowing FileDescriptor, isNamedAsPublication: Bool
  ) throws {
    self.archive = archive
    limits = archive.limits
    faults = archive.faults
    let regular = archive.entries.filter { !$0.isFolder }
    entries = Dictionary(regular.map { ($0.named.path, $0) }, uniquingKeysWith: { first, _ in first })
    let kind = try ZipKind(of: regular, mimetype: Self.mimetype(in: entries, of: archive, in: file))
    var pictures: [PictureFormat?] = []
    if kind.mayBePublication || isNamedAsPublication {
      let content = try archive.content(in: file)
      faults += content.faults
      pictures = content.pictures
    }
    for (index, entry) in archive.entries.enumerated() where !entry.isFolder {
      survey.add(
        .init(
          path: entry.named.path, length: entry.record.length,
          picture: pictures.indices.contains(index) ? pictures[index] : nil))
    }
    switch kind {
    case .other(let clause): format = .other(clause)
    case .epub: format = .epub
    case .pages:
      let hasContainer =
        entries[PublicationMetadata.epubFolder(in: survey) + EPUBMetadata.containerPath] != nil
      let hasPages = !survey.pagesInOrder().isEmpty
      format =
        hasContainer
        ? .epub
        : hasPages
          ? .comicBookZip
          : .other(
            archive.entries.isEmpty && !archive.faults.isEmpty
              ? "a damaged ZIP archive" : "a ZIP archive without a page")
    }
    if format.isPublication || isNamedAsPublication { try read(file) }
  }

  /// An EPUB's document counts before a comic book's. Each document is unpacked once.
  private mutating func read(_ file: borrowing FileDescriptor) throws {
    var contents: [String: [UInt8]?] = [:]
    func content(of path: String) throws -> [UInt8]? {
      if let known = contents[path] { return known }
      let bytes = try entries[path].flatMap {
        try archive.bytes(of: $0, upTo: limits.maximumMetadataLength, in: file)
      }
      contents[path] = .some(bytes)
      return bytes
    }
    if let publication = try PublicationMetadata(epub: survey, content) {
      metadata = publication
    } else {
      metadata = try PublicationMetadata(comicBook: survey, content)
    }
    noteNames()
    if format == .epub { noteContainer() }
  }

  /// Encodings, backslashes, and names that some systems take for the same.
  private mutating func noteNames() {
    let names = archive.entries.map(\.named)
    for encoding in [ArchiveName.Encoding.shiftJIS, .codePage437]
    where names.contains(where: { $0.encoding == encoding }) {
      survey.note(.names(in: encoding))
    }
    if names.contains(where: { $0.encoding == .utf8 && $0.text.utf8.contains(0x5C) }) {
      survey.note(
        PublicationOddity("names have backslashes between their parts, which some readers do not divide"))
    }
    var register = PathConflictDetector()
    for entry in archive.entries where !entry.isFolder {
      guard let path = try? PackagePath(entry.named.path), let conflict = register.register(path) else {
        continue
      }
      survey.note(PublicationOddity(path: entry.name, conflict.detail))
    }
  }

  /// Notes where the archive departs from the container format of EPUB.
  private mutating func noteContainer() {
    let folder = PublicationMetadata.epubFolder(in: survey)
    if !folder.isEmpty {
      survey.note(
        PublicationOddity(
          path: String(folder.dropLast()),
          "everything lies in this folder, where readers of EPUBs do not look"))
    }
    guard let first = archive.entries.first else { return }
    if first.named.path != "mimetype" {
      survey.note(PublicationOddity("mimetype is not the first entry, which strict readers ask for"))
    } else if first.method != .stored {
      survey.note(PublicationOddity(path: first.name, "it is compressed, which strict readers do not take"))
    }
  }

  /// The content of the entry `mimetype` (EPUB 3.3, OCF ZIP container), at most 256 bytes; nil without one.
  private static func mimetype(
    in entries: [String: ThirdPartyZipEntry], of archive: ThirdPartyZipInspection,
    in file: borrowing FileDescriptor
  ) throws -> String? {
    guard let entry = entries["mimetype"],
      let bytes = try archive.bytes(of: entry, upTo: ByteCount(256), in: file)
    else { return nil }
    return String(validating: bytes, as: UTF8.self).map(\.collapsingWhiteSpace)
  }
}

/// The kind of a ZIP archive by the names in it.
private enum ZipKind {
  case epub
  /// Its pages decide.
  case pages
  case other(String)

  /// False where the names say that it is something else.
  var mayBePublication: Bool {
    if case .other = self { false } else { true }
  }

  /// An entry `mimetype` decides alone; without it the names that Office, Java and Apple's programs use.
  init(of entries: [ThirdPartyZipEntry], mimetype: String?) {
    if let mimetype, !mimetype.isEmpty {
      self = mimetype.lowercased() == EPUBMetadata.mediaType ? .epub : .other(Self.clause(of: mimetype))
      return
    }
    let paths = Set(entries.map(\.named.path))
    func hasFolder(_ name: String) -> Bool { paths.contains { $0.hasPrefix(name + "/") } }
    if paths.contains("[Content_Types].xml") {
      self = .other(
        hasFolder("word")
          ? "a Word document"
          : hasFolder("xl")
            ? "an Excel workbook"
            : hasFolder("ppt") ? "a PowerPoint presentation" : "an Office document")
    } else if paths.contains(where: { $0.hasSuffix(".iwa") }) || paths.contains("index.apxl") {
      self = .other("a Pages, Numbers or Keynote document")
    } else if paths.contains("META-INF/MANIFEST.MF") || paths.contains("AndroidManifest.xml") {
      self = .other("a Java or Android program")
    } else if paths.contains(where: { $0.hasPrefix("Payload/") && $0.contains(".app/") }) {
      self = .other("an iOS program")
    } else {
      self = .pages
    }
  }

  private static func clause(of mimetype: String) -> String {
    if mimetype.hasPrefix("application/vnd.oasis.opendocument") { return "an OpenDocument file" }
    if mimetype.contains("indesign-idml") { return "an InDesign document (export it as PDF or EPUB)" }
    return "a file of the type \(mimetype)"
  }
}
