public import Commerce
public import CoreTypes
public import Crypto

/// Describes one package: what it is, its bytes piece by piece, and its files. A value of this type is well-formed
/// (docs/formats/manifest.md lists the rules), and whoever made it vouches for it: a builder that wrote the package, a
/// grant that named its digest (``UnverifiedManifest/verified(against:limits:)``), or an inspection.
public struct Manifest: Hashable, Sendable {
  /// The version of the document's format.
  public static let formatName = "pullbox-manifest/1"

  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The package is a single file as it is (`.cbz`, `.epub`, `.pdf`).
    case file
    /// The package is an archive of files that are unpacked.
    case folder
  }

  public let product: ProductIdentifier
  public let version: ContentVersion
  public let kind: Kind
  /// What a package of kind ``Kind/file`` is called when it is placed; nil for a folder.
  public let name: String?
  public let mediaType: MediaType
  /// Bytes of the package.
  public let length: ByteCount
  /// Of the package.
  public let digest: SHA256Digest
  /// Of the package's pieces, in order; see ``PieceLayout``.
  public let pieces: [SHA256Digest]
  /// Bytes of all files together.
  public let unpackedLength: ByteCount
  public let title: String?
  public let pageCount: Int?
  public let cover: PackagePath?
  /// The pages in the order they are read.
  public let readingOrder: [PackagePath]?
  /// Sorted by path.
  public let files: [ManifestFile]
  /// Of the canonical bytes: what a grant carries.
  public let manifestDigest: SHA256Digest

  public var layout: PieceLayout { PieceLayout(packageLength: length) }

  /// Checks every rule; throws a ``PackageValidationError`` with all that are broken.
  init(_ draft: ManifestDraft, limits: PackageLimits) throws(PackageValidationError) {
    let bytes = draft.canonicalBytes()
    try self.init(draft, canonicalBytes: bytes, limits: limits)
  }

  /// `canonicalBytes` must be the ones of `draft`.
  init(_ draft: ManifestDraft, canonicalBytes: [UInt8], limits: PackageLimits) throws(PackageValidationError)
  {
    let faults = draft.faults(canonicalLength: ByteCount(canonicalBytes.count), limits: limits)
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    self.init(checked: draft, digest: .of(canonicalBytes))
  }

  private init(checked draft: ManifestDraft, digest manifestDigest: SHA256Digest) {
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
    self.manifestDigest = manifestDigest
  }

  /// The document as it is sent and stored: canonical JSON (RFC 8785), ``manifestDigest`` being its digest.
  public func canonicalBytes() -> [UInt8] { draft.canonicalBytes() }

  var draft: ManifestDraft {
    ManifestDraft(
      product: product, version: version, kind: kind, name: name, mediaType: mediaType, length: length,
      digest: digest, pieces: pieces, unpackedLength: unpackedLength, title: title, pageCount: pageCount,
      cover: cover, readingOrder: readingOrder, files: files)
  }
}

extension Manifest {
  public static func == (left: Manifest, right: Manifest) -> Bool {
    left.manifestDigest == right.manifestDigest
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(manifestDigest)
  }
}

/// One file of a package.
public struct ManifestFile: Hashable, Sendable {
  public let path: PackagePath
  /// Where the file's bytes start in the package; behind the header that announces them.
  public let offset: ByteCount
  /// The bytes it takes in the package.
  public let storedLength: ByteCount
  /// The bytes of the file itself.
  public let length: ByteCount
  public let method: StorageMethod
  /// Of the file itself, not of its stored form.
  public let digest: SHA256Digest

  public init(
    path: PackagePath, offset: ByteCount, storedLength: ByteCount, length: ByteCount, method: StorageMethod,
    digest: SHA256Digest
  ) {
    self.path = path
    self.offset = offset
    self.storedLength = storedLength
    self.length = length
    self.method = method
    self.digest = digest
  }

  /// The part of the package it takes.
  public var storedRange: Range<Int64> { offset.rawValue..<offset.rawValue + storedLength.rawValue }
}

/// How a file's bytes lie in a package.
public enum StorageMethod: String, Hashable, Sendable, CaseIterable {
  /// As they are.
  case stored
  /// As one raw deflate stream (RFC 1951).
  case deflated
}

/// The bytes of a manifest as they came; nothing in them is to be believed yet.
public struct UnverifiedManifest: Sendable {
  public let bytes: [UInt8]
  /// Of ``bytes``.
  public let digest: SHA256Digest

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

  /// The manifest as somebody proposes it, well-formed but authenticated by nobody: for the side that goes on to inspect
  /// a package against it (``PackageInspector``), never for one that downloads.
  public func proposed(limits: PackageLimits = .standard) throws(PackageValidationError) -> Manifest {
    let draft = try ManifestDecoder.draft(from: bytes, limits: limits)
    return try Manifest(draft, canonicalBytes: bytes, limits: limits)
  }
}
