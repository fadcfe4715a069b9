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
