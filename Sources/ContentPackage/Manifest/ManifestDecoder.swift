import Commerce
import CoreTypes
import Crypto

/// Reads the canonical document into a draft. Where the text is no canonical JSON or a member is of another JSON type,
/// reading ends at once; a member whose value is not allowed is noted and reading goes on, so that all are listed.
struct ManifestDecoder {
  typealias Malformed = CanonicalJSONReader.Malformed

  /// The bounds that lists and lengths are held to while they are read.
  private let limits: PackageLimits
  /// The faults so far; reading goes on behind them.
  private var faults: [PackageValidationIssue] = []

  private var format: String?
  private var product: ProductIdentifier?
  private var version: ContentVersion?
  private var kind: Manifest.Kind?
  private var name: String?
  private var mediaType: MediaType?
  private var length: ByteCount?
  private var digest: SHA256Digest?
  private var pieceLength: Int64?
  private var pieces: [SHA256Digest]?
  private var unpackedLength: ByteCount?
  private var title: String?
  private var pageCount: Int?
  private var cover: PackagePath?
  private var readingOrder: [PackagePath]?
  private var files: [ManifestFile]?
  private var requiredFeatures: [ManifestName] = []
  private var extensions: ManifestExtensions?
  private var fileExtensions = SharedExtensions()

  private init(limits: PackageLimits) {
    self.limits = limits
  }

  /// Throws a ``PackageValidationError`` when `bytes` are no manifest; the draft's own rules are not checked here.
  static func draft(from bytes: [UInt8], limits: PackageLimits) throws(PackageValidationError)
    -> ManifestDraft
  {
    guard ByteCount(bytes.count) <= limits.maximumManifestLength else {
      throw PackageValidationError(
        .manifestTooLarge,
        "the manifest has \(bytes.count) bytes, at most \(limits.maximumManifestLength.rawValue) are allowed")
    }
    do throws(PackageValidationError) {
      return try decode(bytes, limits: limits)
    } catch {
      // What is told already stands beside the other faults; a document that could not be read to its end is of a
      // later version, rather than malformed.
      guard !error.faults.contains(Manifest.unknownFormat) else { throw error }
      let unknown = ManifestFeatures.issues(inUnreadable: bytes)
      throw unknown.isEmpty ? error : PackageValidationError(unknown)
    }
  }

  /// Reads all members, and then throws what was found wrong with them.
  private static func decode(_ bytes: [UInt8], limits: PackageLimits) throws(PackageValidationError)
    -> ManifestDraft
  {
    var decoder = ManifestDecoder(limits: limits)
    var reader = CanonicalJSONReader(bytes)
    do throws(Malformed) {
      try reader.object { reader, key throws(Malformed) in try decoder.readMember(key, from: &reader) }
      try reader.end()
    } catch {
      throw PackageValidationError(
        decoder.faults + [
          PackageValidationIssue(
            .manifestMalformed, "not canonical JSON at byte \(error.position): expected \(error.expectation)")
        ])
    }
    return try decoder.finish()
  }

  /// Reads the value of one member. A member that the format does not have ends the reading.
  private mutating func readMember(
    _ key: String, from reader: inout CanonicalJSONReader
  ) throws(Malformed) {
    switch key {
    case "cover": cover = try readPath(from: &reader)
    case "digest": digest = try readDigest("digest", from: &reader)
    case "extensions": try readExtensions(from: &reader)
    case "files": files = try readFiles(from: &reader)
    case "format": format = try reader.string(maximumLength: 64)
    case "kind": kind = try readText(key, from: &reader, maximumLength: 16) { Manifest.Kind(rawValue: $0) }
    case "length": length = ByteCount(try reader.integer())
    case "mediaType": mediaType = try readText(key, from: &reader, maximumLength: 128) { MediaType($0) }
    case "name": name = try reader.string(maximumLength: PackagePath.maximumSegmentLength)
    case "pageCount": pageCount = Int(try reader.integer())
    case "pieceLength": pieceLength = try reader.integer()
    case "pieces": pieces = try readPieces(from: &reader)
    case "product": product = try readText(key, from: &reader, maximumLength: 255) { ProductIdentifier($0) }
    case "readingOrder": readingOrder = try readPaths(from: &reader)
    case "requiredFeatures": requiredFeatures = try ManifestFeatures.read(from: &reader, issues: &faults)
    case "title": title = try reader.string(maximumLength: ManifestDraft.maximumTitleLength * 4)
    case "unpackedLength": unpackedLength = ByteCount(try reader.integer())
    case "version": version = try readText(key, from: &reader, maximumLength: 128) { ContentVersion($0) }
    default: throw reader.malformed("a member of \(Manifest.formatName), not \(key)")
    }
  }

  /// Throws the faults, and those of members that are missing. Missing members are told only where nothing else is wrong.
  private mutating func finish() throws(PackageValidationError) -> ManifestDraft {
    if format != Manifest.formatName {
      faults.append(Manifest.unknownFormat)
    }
    if let pieceLength, pieceLength != PieceLayout.pieceLength.rawValue {
      faults.append(
        PackageValidationIssue(
          .manifestMemberInvalid, "pieceLength: always \(PieceLayout.pieceLength.rawValue)"))
    }
    faults += ManifestFeatures.issues(in: requiredFeatures)
    // An invalid value has left its fault already; only members that never came are missing.
    if faults.isEmpty {
      let required: [(String, Bool)] = [
        ("digest", digest == nil), ("files", files == nil), ("kind", kind == nil), ("length", length == nil),
        ("mediaType", mediaType == nil), ("pieceLength", pieceLength == nil), ("pieces", pieces == nil),
        ("product", product == nil), ("unpackedLength", unpackedLength == nil), ("version", version == nil),
      ]
      faults = required.filter(\.1).map { PackageValidationIssue(.manifestMemberInvalid, "\($0.0): missing") }
    }
    guard faults.isEmpty, let product, let version, let kind, let mediaType, let length, let digest,
      let pieces, let unpackedLength, let files
    else { throw PackageValidationError(faults) }
    return ManifestDraft(
      product: product, version: version, kind: kind, name: name, mediaType: mediaType, length: length,
      digest: digest, pieces: pieces, unpackedLength: unpackedLength, title: title, pageCount: pageCount,
      cover: cover, readingOrder: readingOrder, files: files, requiredFeatures: requiredFeatures,
      extensions: extensions)
  }
}

/// The reading of values that have rules of their own.
extension ManifestDecoder {
  /// Reads a text and makes a value of it; a text that is none is noted as a fault, and nil returned.
  private mutating func readText<Value>(
    _ key: String, from reader: inout CanonicalJSONReader, maximumLength: Int, _ value: (String) -> Value?
  ) throws(Malformed) -> Value? {
    let text = try reader.string(maximumLength: maximumLength)
    guard let result = value(text) else {
      faults.append(PackageValidationIssue(.manifestMemberInvalid, "\(key): \(text) is not allowed"))
      return nil
    }
    return result
  }

  /// Reads a digest of 64 hexadecimal digits; `path` names the file for the fault.
  private mutating func readDigest(
    _ key: String, path: String? = nil, from reader: inout CanonicalJSONReader
  ) throws(Malformed) -> SHA256Digest? {
    let text = try reader.string(maximumLength: 64)
    let digest = SHA256Digest(hexadecimal: text)
    if digest == nil {
      faults.append(
        PackageValidationIssue(
          .manifestMemberInvalid, path: path, "\(key): not 64 lower-case hexadecimal digits"))
    }
    return digest
  }

  /// The reader's bound is generous, so that a path that is too long is named instead of ending the reading.
  private mutating func readPath(from reader: inout CanonicalJSONReader) throws(Malformed) -> PackagePath? {
    let text = try reader.string(maximumLength: PackagePath.maximumLength * 4)
    do throws(PackagePathFault) {
      return try PackagePath(text)
    } catch {
      faults.append(PackageValidationIssue(error.code, path: text, error.reason))
      return nil
    }
  }

  /// Reads a list of paths, without those that are faults.
  private mutating func readPaths(from reader: inout CanonicalJSONReader) throws(Malformed) -> [PackagePath] {
    var paths: [PackagePath] = []
    try reader.array { reader throws(Malformed) in
      if let path = try readPath(from: &reader) { paths.append(path) }
    }
    return paths
  }

  /// Reads the digests of pieces, without those that are faults.
  private mutating func readPieces(from reader: inout CanonicalJSONReader) throws(Malformed) -> [SHA256Digest]
  {
    var pieces: [SHA256Digest] = []
    try reader.array { reader throws(Malformed) in
      if let digest = try readDigest("pieces", from: &reader) { pieces.append(digest) }
    }
    return pieces
  }

  /// Reads the files. More than the limit end the reading, so that no document makes a list without bound.
  private mutating func readFiles(from reader: inout CanonicalJSONReader) throws(Malformed) -> [ManifestFile]
  {
    var files: [ManifestFile] = []
    try reader.array { reader throws(Malformed) in
      guard files.count < limits.maximumFiles else {
        throw reader.malformed("at most \(limits.maximumFiles) files")
      }
      if let file = try readFile(from: &reader) { files.append(file) }
    }
    return files
  }

  /// Reads one file; nil where a member is missing or not allowed.
  private mutating func readFile(from reader: inout CanonicalJSONReader) throws(Malformed) -> ManifestFile? {
    var digest: SHA256Digest?
    var path: PackagePath?
    var method: StorageMethod?
    var offset: ByteCount?
    var length: ByteCount?
    var storedLength: ByteCount?
    var extensions: ManifestExtensions?
    var extensionFaults: [String] = []
    let faultsBefore = faults.count
    try reader.object { reader, key throws(Malformed) in
      switch key {
      case "digest": digest = try readDigest("files.digest", from: &reader)
      case "extensions":
        extensions = try ManifestExtensions.read(
          from: &reader, maximumLength: ManifestExtensions.maximumFileLength, faults: &extensionFaults)
      case "length": length = ByteCount(try reader.integer())
      case "method":
        method = try readText("files.method", from: &reader, maximumLength: 16) {
          StorageMethod(rawValue: $0)
        }
      case "offset": offset = ByteCount(try reader.integer())
      case "path": path = try readPath(from: &reader)
      case "storedLength": storedLength = ByteCount(try reader.integer())
      default: throw reader.malformed("a member of a file, not \(key)")
      }
    }
    faults += Self.issues(ofExtensions: extensionFaults, path: path)
    guard let digest, let path, let method, let offset, let length, let storedLength else {
      if faults.count == faultsBefore {
        faults.append(
          PackageValidationIssue(
            .manifestMemberInvalid, path: path?.text, "files: a member of the file is missing"))
      }
      return nil
    }
    return ManifestFile(
      path: path, offset: offset, storedLength: storedLength, length: length, method: method, digest: digest,
      extensions: extensions.map { fileExtensions.shared($0) })
  }

  /// Reads the extensions of the manifest.
  private mutating func readExtensions(from reader: inout CanonicalJSONReader) throws(Malformed) {
    var found: [String] = []
    extensions = try ManifestExtensions.read(
      from: &reader, maximumLength: ManifestExtensions.maximumManifestLength, faults: &found)
    faults += Self.issues(ofExtensions: found, path: nil)
  }

  /// An issue for each broken rule of extensions.
  private static func issues(ofExtensions faults: [String], path: PackagePath?) -> [PackageValidationIssue] {
    faults.map {
      PackageValidationIssue(.manifestExtensionInvalid, path: path?.text, "extensions: \($0)")
    }
  }
}
