public import Commerce
public import CoreTypes
public import Crypto

/// Describes one package: what it is, its bytes piece by piece, and its files. A grant names the manifest's digest, and the
/// manifest names the digest of every piece, so each byte that arrives can be checked by itself.
///
/// A value of this type is well-formed (docs/formats/manifest.md lists the rules), and its maker vouches for it: a builder
/// that wrote the package, a grant that named its digest, or an inspection. Bytes from outside are an
/// ``UnverifiedManifest`` first.
///
/// ```swift
/// let manifest = try UnverifiedManifest(response.body).verified(against: grant.manifestDigest)
/// for file in manifest.files { print(file.path, file.length.rawValue) }
/// ```
public struct Manifest: Hashable, Sendable {
  /// The version of the document's format.
  public static let formatName = "pullbox-manifest/1"

  /// The issue of a document in another format.
  static let unknownFormat = PackageValidationIssue(
    .manifestFormatUnknown, "format: \(formatName) is the only one known here")

  /// The kind of a package.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The package is a single file as it is (`.cbz`, `.epub`, `.pdf`).
    case file
    /// The package is an archive of files that are unpacked.
    case folder
  }

  /// The product whose content this is.
  public let product: ProductIdentifier
  /// The content version that the package carries.
  public let version: ContentVersion
  /// Whether the package is one file or an archive.
  public let kind: Kind
  /// The name that a package of kind ``Kind/file`` is placed under; nil for a folder.
  public let name: String?
  /// The type of the package as it travels.
  public let mediaType: MediaType
  /// Bytes of the package.
  public let length: ByteCount
  /// The digest of the package.
  public let digest: SHA256Digest
  /// The digests of the package's pieces, in order; see ``PieceLayout``.
  public let pieces: [SHA256Digest]
  /// Bytes of ``files`` together.
  public private(set) var unpackedLength: ByteCount
  /// The title that readers show for the content, 1 to 1024 characters; nil when it is not known.
  public let title: String?
  /// Pages of the publication, 1 to 1,000,000; nil when they cannot be counted.
  public let pageCount: Int?
  /// The file that shows the cover; nil when there is none.
  public private(set) var cover: PackagePath?
  /// The pages in the order they are read.
  public private(set) var readingOrder: [PackagePath]?
  /// Sorted by path. Of a manifest that speaks of some sections (``selecting(_:)``), their files alone.
  public private(set) var files: [ManifestFile]
  /// The features that a reader must know to read this manifest, ascending; empty for most manifests. A
  /// reader refuses a manifest with a feature that it does not know (`manifest-feature-unknown`).
  public let requiredFeatures: [ManifestName]
  /// The notes of the publisher's tools for readers that know more than this one; nil when there are none.
  public let extensions: ManifestExtensions?
  /// The parts that devices fetch by themselves, by tag; empty for content that is one whole.
  public let sections: [ManifestSection]
  /// The digest of the canonical bytes: what a grant carries.
  public let manifestDigest: SHA256Digest
  /// The sections that this value speaks of, with the required ones; nil where it speaks of all.
  public private(set) var selection: Set<SectionTag>?
  /// The members of the whole, where this value speaks of a part.
  private var whole: WholeMembers?

  /// The title as it is to be shown and kept beside the manifest: without U+0000 and invisible characters
  /// (`removingInvisibleFormatting`), which a manifest of other tools may have. Nil when nothing is left.
  public var displayTitle: String? {
    guard var title = title?.removingInvisibleFormatting else { return nil }
    // Not every database can keep it.
    if title.utf8.contains(0) { title.unicodeScalars.removeAll { $0 == "\0" } }
    return title.isEmpty ? nil : title
  }

  /// How the package is divided into pieces.
  public var layout: PieceLayout { PieceLayout(packageLength: length) }

  /// Checks every rule; throws a ``PackageValidationError`` with all that are broken.
  package init(_ draft: ManifestDraft, limits: PackageLimits) throws(PackageValidationError) {
    let bytes = draft.canonicalBytes()
    try self.init(draft, canonicalBytes: bytes, limits: limits)
  }

  /// `canonicalBytes` must be the ones of `draft`.
  init(_ draft: ManifestDraft, canonicalBytes: [UInt8], limits: PackageLimits) throws(PackageValidationError)
  {
    let (sections, issues) = draft.readSections()
    let faults = draft.faults(canonicalLength: ByteCount(canonicalBytes.count), limits: limits) + issues
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    self.init(checked: draft, sections: sections, digest: .of(canonicalBytes))
  }

  /// A manifest of a draft that was checked.
  private init(
    checked draft: ManifestDraft, sections: [ManifestSection], digest manifestDigest: SHA256Digest
  ) {
    product = draft.product
    version = draft.version
    kind = draft.kind
    name = draft.name
    mediaType = draft.mediaType
    length = draft.length
    digest = draft.digest
    pieces = draft.pieces
    unpackedLength = draft.unpackedLength
    title = draft.title
    pageCount = draft.pageCount
    cover = draft.cover
    readingOrder = draft.readingOrder
    files = draft.files
    requiredFeatures = draft.requiredFeatures
    extensions = draft.extensions
    self.sections = sections
    self.manifestDigest = manifestDigest
  }

  /// The document as it is sent and stored: canonical JSON (RFC 8785), ``manifestDigest`` being its digest. Of a manifest that
  /// speaks of some sections the same as of the whole.
  public func canonicalBytes() -> [UInt8] { draft.canonicalBytes() }

  /// The members of the whole, for a manifest that changes some of them.
  package var draft: ManifestDraft {
    ManifestDraft(
      product: product, version: version, kind: kind, name: name, mediaType: mediaType, length: length,
      digest: digest, pieces: pieces, unpackedLength: whole?.unpackedLength ?? unpackedLength, title: title,
      pageCount: pageCount, cover: whole.map(\.cover) ?? cover,
      readingOrder: whole.map(\.readingOrder) ?? readingOrder, files: whole?.files ?? files,
      requiredFeatures: requiredFeatures, extensions: extensions)
  }
}

extension Manifest {
  /// The members that are shorter in a manifest that speaks of some sections.
  fileprivate struct WholeMembers: Sendable {
    let files: [ManifestFile]
    let unpackedLength: ByteCount
    let cover: PackagePath?
    let readingOrder: [PackagePath]?
  }

  /// The tags of the sections that every device has.
  public var requiredSections: Set<SectionTag> {
    Set(sections.lazy.filter { $0.policy == .required }.map(\.tag))
  }

  /// The sections that this value speaks of: all of them, or ``selection``.
  public var selectedSections: Set<SectionTag> { selection ?? Set(sections.map(\.tag)) }

  /// A manifest of the same package that speaks of the files of these sections, of the required ones, and of what belongs to none.
  /// Tags that the manifest does not have count for nothing. The same manifest where that is everything.
  public func selecting(_ tags: Set<SectionTag>) -> Manifest {
    let known = Set(sections.map(\.tag))
    let selection = requiredSections.union(tags.intersection(known))
    var result = self
    let members =
      whole
      ?? WholeMembers(files: files, unpackedLength: unpackedLength, cover: cover, readingOrder: readingOrder)
    guard selection != known else {
      result.files = members.files
      result.unpackedLength = members.unpackedLength
      result.cover = members.cover
      result.readingOrder = members.readingOrder
      result.selection = nil
      result.whole = nil
      return result
    }
    result.files = members.files.filter { $0.section.map(selection.contains) ?? true }
    result.unpackedLength = result.files.reduce(.zero) { $0 + $1.length }
    let paths = Set(result.files.map(\.path))
    result.cover = members.cover.flatMap { paths.contains($0) ? $0 : nil }
    result.readingOrder = members.readingOrder?.filter(paths.contains)
    result.selection = selection
    result.whole = members
    return result
  }

  /// Names what this value speaks of, for caches: the manifest's digest, and for a choice of sections one of its own.
  public var identity: SHA256Digest {
    guard let selection else { return manifestDigest }
    let tags = selection.sorted().map(\.description).joined(separator: " ")
    return .of(Array("\(manifestDigest) \(tags)".utf8))
  }

  /// The manifest of everything, whatever this value speaks of.
  public var unabridged: Manifest { selection == nil ? self : selecting(Set(sections.map(\.tag))) }
}

extension Manifest {
  /// Manifests are equal when their canonical bytes are, which the digest tells, and when they speak of the same sections.
  public static func == (left: Manifest, right: Manifest) -> Bool {
    left.manifestDigest == right.manifestDigest && left.selection == right.selection
  }

  /// Hashes the manifest's digest.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(manifestDigest)
  }
}

/// One file of a package.
public struct ManifestFile: Hashable, Sendable {
  /// Where the file is placed below the content's folder.
  public let path: PackagePath
  /// Where the file's bytes start in the package; behind the header that announces them.
  public let offset: ByteCount
  /// The bytes it takes in the package.
  public let storedLength: ByteCount
  /// The bytes of the file itself.
  public let length: ByteCount
  /// How the file's bytes lie in the package.
  public let method: StorageMethod
  /// The digest of the file itself, not of its stored form.
  public let digest: SHA256Digest
  /// The notes of the publisher's tools about this file for readers that know more than this one; nil when
  /// there are none.
  public let extensions: ManifestExtensions?
  /// The section that the file belongs to, which its extensions tell; nil for a file of none.
  public let section: SectionTag?

  /// Creates the entry; a manifest checks it against the others.
  public init(
    path: PackagePath, offset: ByteCount, storedLength: ByteCount, length: ByteCount, method: StorageMethod,
    digest: SHA256Digest, extensions: ManifestExtensions? = nil
  ) {
    self.path = path
    self.offset = offset
    self.storedLength = storedLength
    self.length = length
    self.method = method
    self.digest = digest
    self.extensions = extensions
    section = extensions?.sectionTag
  }

  /// The part of the package it takes.
  public var storedRange: Range<Int64> { offset.rawValue..<offset.rawValue + storedLength.rawValue }
}

/// How a file's bytes lie in a package.
public enum StorageMethod: String, Hashable, Sendable, CaseIterable {
  /// The file's bytes as they are.
  case stored
  /// One raw deflate stream (RFC 1951).
  case deflated
}

/// The bytes of a manifest as they came; nothing in them is to be believed yet.
public struct UnverifiedManifest: Sendable {
  /// The document as it was received.
  public let bytes: [UInt8]
  /// The digest of ``bytes``.
  public let digest: SHA256Digest

  /// Takes the bytes as they are; nothing is read before they are verified or proposed.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    digest = .of(bytes)
  }

  /// The manifest, authenticated by the digest that a grant carries. Throws ``PackageValidationError`` when the bytes are others,
  /// or are no well-formed manifest.
  public func verified(
    against digest: SHA256Digest, limits: PackageLimits = .standard
  ) throws(PackageValidationError) -> Manifest {
    guard digest == self.digest else {
      throw PackageValidationError(
        .manifestDigestMismatch, "the manifest's digest is \(self.digest), not \(digest)")
    }
    return try proposed(limits: limits)
  }

  /// The manifest as a publisher proposes it, well-formed and not authenticated: for the side that continues by inspecting
  /// a package against it (``PackageInspector``), never for one that downloads.
  public func proposed(limits: PackageLimits = .standard) throws(PackageValidationError) -> Manifest {
    let draft = try ManifestDecoder.draft(from: bytes, limits: limits)
    return try Manifest(draft, canonicalBytes: bytes, limits: limits)
  }
}
