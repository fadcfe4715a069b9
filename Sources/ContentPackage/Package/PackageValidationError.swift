/// Thrown where a package, a manifest or a source folder is refused: with everything that is wrong with it.
public struct PackageValidationError: Error, Hashable, Sendable {
  /// Never empty.
  public let faults: [PackageValidationIssue]

  public init(_ faults: [PackageValidationIssue]) {
    precondition(!faults.isEmpty, "a refusal names at least one fault")
    self.faults = faults
  }

  public init(_ code: PackageValidationIssue.Code, path: String? = nil, _ detail: String) {
    faults = [PackageValidationIssue(code, path: path, detail)]
  }
}

extension PackageValidationError: CustomStringConvertible {
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// One thing wrong with a package, a manifest or a source folder. Checks list every fault they find, so that a
/// publisher mends them in one go.
public struct PackageValidationIssue: Hashable, Sendable, Codable {
  public let code: Code
  /// The file or folder it is about, as far as it could be named; nil when it is about the whole.
  public let path: String?
  /// One sentence for people.
  public let detail: String

  public init(_ code: Code, path: String? = nil, _ detail: String) {
    self.code = code
    self.path = path
    self.detail = detail
  }
}

extension PackageValidationIssue: CustomStringConvertible {
  public var description: String {
    path.map { "\(code.rawValue): \($0): \(detail)" } ?? "\(code.rawValue): \(detail)"
  }
}

extension PackageValidationIssue {
  /// A stable name for programs; new ones may be added.
  public struct Code: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }
}

extension PackageValidationIssue.Code {
  // The manifest as a document.
  public static let manifestMalformed = Self(rawValue: "manifest-malformed")
  public static let manifestFormatUnknown = Self(rawValue: "manifest-format-unknown")
  public static let manifestTooLarge = Self(rawValue: "manifest-too-large")
  public static let manifestDigestMismatch = Self(rawValue: "manifest-digest-mismatch")
  public static let manifestMemberInvalid = Self(rawValue: "manifest-member-invalid")
  public static let filesNotSorted = Self(rawValue: "files-not-sorted")
  public static let pieceCountWrong = Self(rawValue: "piece-count-wrong")
  public static let lengthsDoNotAddUp = Self(rawValue: "lengths-do-not-add-up")
  public static let fileOutsidePackage = Self(rawValue: "file-outside-package")
  public static let filesOverlap = Self(rawValue: "files-overlap")
  public static let pageUnknown = Self(rawValue: "page-unknown")

  // Names and bounds, in manifests, source folders and archives alike.
  public static let pathUnsafe = Self(rawValue: "path-unsafe")
  public static let pathDuplicate = Self(rawValue: "path-duplicate")
  public static let pathAmbiguous = Self(rawValue: "path-ambiguous")
  public static let pathInsideFile = Self(rawValue: "path-inside-file")
  public static let packageTooLarge = Self(rawValue: "package-too-large")
  public static let packageEmpty = Self(rawValue: "package-empty")
  public static let tooManyFiles = Self(rawValue: "too-many-files")
  public static let unpackedTooLarge = Self(rawValue: "unpacked-too-large")
  public static let unpackRatioTooHigh = Self(rawValue: "unpack-ratio-too-high")

  // What may not be in a package.
  public static let symbolicLink = Self(rawValue: "symbolic-link")
  public static let notARegularFile = Self(rawValue: "not-a-regular-file")
  public static let executable = Self(rawValue: "executable")
  public static let changedWhilePacking = Self(rawValue: "changed-while-packing")
  public static let folderTooDeep = Self(rawValue: "folder-too-deep")
  public static let contentInfoInvalid = Self(rawValue: "content-info-invalid")

  // The package's bytes against the manifest.
  public static let lengthMismatch = Self(rawValue: "length-mismatch")
  public static let digestMismatch = Self(rawValue: "digest-mismatch")
  public static let pieceMismatch = Self(rawValue: "piece-mismatch")
  public static let fileDigestMismatch = Self(rawValue: "file-digest-mismatch")
  public static let fileLengthMismatch = Self(rawValue: "file-length-mismatch")
  public static let fileChecksumMismatch = Self(rawValue: "file-checksum-mismatch")
  public static let compressedDataInvalid = Self(rawValue: "compressed-data-invalid")

  // The publisher's signature of the manifest.
  public static let signatureMissing = Self(rawValue: "signature-missing")
  public static let signatureInvalid = Self(rawValue: "signature-invalid")
  public static let signatureKeyUnknown = Self(rawValue: "signature-key-unknown")
  public static let signatureKeyChanged = Self(rawValue: "signature-key-changed")
  public static let signatureKeyUntrusted = Self(rawValue: "signature-key-untrusted")

  // The archive's own order.
  public static let archiveMalformed = Self(rawValue: "archive-malformed")
  public static let archiveFeatureUnsupported = Self(rawValue: "archive-feature-unsupported")
  public static let archiveEncrypted = Self(rawValue: "archive-encrypted")
  public static let archiveEntriesOverlap = Self(rawValue: "archive-entries-overlap")
  public static let archiveHiddenData = Self(rawValue: "archive-hidden-data")
  public static let archiveHeadersDisagree = Self(rawValue: "archive-headers-disagree")
  public static let archiveEntryUnlisted = Self(rawValue: "archive-entry-unlisted")
  public static let archiveEntryMissing = Self(rawValue: "archive-entry-missing")
  public static let archiveDisagreesWithManifest = Self(rawValue: "archive-disagrees-with-manifest")
}
