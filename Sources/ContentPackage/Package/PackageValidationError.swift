/// Thrown where a package, a manifest or a source folder is refused: with every issue that was found.
public struct PackageValidationError: Error, Hashable, Sendable {
  /// Never empty.
  public let faults: [PackageValidationIssue]

  /// Creates the error; traps when `faults` is empty.
  public init(_ faults: [PackageValidationIssue]) {
    precondition(!faults.isEmpty, "a refusal names at least one fault")
    self.faults = faults
  }

  /// Creates the error for one fault; see ``PackageValidationIssue/init(_:path:_:)``.
  public init(_ code: PackageValidationIssue.Code, path: String? = nil, _ detail: String) {
    faults = [PackageValidationIssue(code, path: path, detail)]
  }
}

extension PackageValidationError: CustomStringConvertible {
  /// A line for each fault.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// One thing wrong with a package, a manifest or a source folder. Checks list every fault they find, so that a
/// publisher corrects them in one go.
public struct PackageValidationIssue: Hashable, Sendable, Codable {
  /// The kind of the fault, for programs.
  public let code: Code
  /// The file or folder it is about, as far as it could be named; nil when it is about the whole.
  public let path: String?
  /// One sentence for people.
  public let detail: String

  /// Creates the issue; nil for `path` when it is about the whole.
  public init(_ code: Code, path: String? = nil, _ detail: String) {
    self.code = code
    self.path = path
    self.detail = detail
  }
}

extension PackageValidationIssue: CustomStringConvertible {
  /// The code, the path where there is one, and the sentence, separated by colons.
  public var description: String {
    path.map { "\(code.rawValue): \($0): \(detail)" } ?? "\(code.rawValue): \(detail)"
  }
}

extension PackageValidationIssue {
  /// A stable name for programs; new ones may be added.
  public struct Code: RawRepresentable, Hashable, Sendable, Codable {
    /// The name as documents and answers write it.
    public let rawValue: String
    /// Creates a code of any name, so that newer ones survive decoding.
    public init(rawValue: String) { self.rawValue = rawValue }
  }
}

extension PackageValidationIssue.Code {
  // The manifest as a document.
  /// The document is no canonical JSON, or has members that the format does not.
  public static let manifestMalformed = Self(rawValue: "manifest-malformed")
  /// The document's format is another than ``Manifest/formatName``.
  public static let manifestFormatUnknown = Self(rawValue: "manifest-format-unknown")
  /// The document has more bytes than a manifest may.
  public static let manifestTooLarge = Self(rawValue: "manifest-too-large")
  /// The document has another digest than the grant names.
  public static let manifestDigestMismatch = Self(rawValue: "manifest-digest-mismatch")
  /// A member is missing, or its value is not allowed.
  public static let manifestMemberInvalid = Self(rawValue: "manifest-member-invalid")
  /// The manifest needs readers to know a feature that this version does not.
  public static let manifestFeatureUnknown = Self(rawValue: "manifest-feature-unknown")
  /// An extension point breaks a rule: names, number, depth or length.
  public static let manifestExtensionInvalid = Self(rawValue: "manifest-extension-invalid")
  /// Sections break a rule: tags, policies, titles, or which files belong to them.
  public static let sectionInvalid = Self(rawValue: "section-invalid")
  /// The files are not in the order of their paths' bytes.
  public static let filesNotSorted = Self(rawValue: "files-not-sorted")
  /// The number of pieces does not follow from the length.
  public static let pieceCountWrong = Self(rawValue: "piece-count-wrong")
  /// Lengths contradict one another.
  public static let lengthsDoNotAddUp = Self(rawValue: "lengths-do-not-add-up")
  /// A file's bytes reach past the package's end.
  public static let fileOutsidePackage = Self(rawValue: "file-outside-package")
  /// Two files share bytes of the package.
  public static let filesOverlap = Self(rawValue: "files-overlap")
  /// The cover or a page is no file of the package, or a page occurs twice.
  public static let pageUnknown = Self(rawValue: "page-unknown")
  /// A sample that the product's description names is no file of the package, or one that cannot be shown.
  public static let sampleInvalid = Self(rawValue: "sample-invalid")

  // Names and bounds, in manifests, source folders and archives alike.
  /// A path could lead outside the folder, or cannot exist on every system.
  public static let pathUnsafe = Self(rawValue: "path-unsafe")
  /// A path occurs twice.
  public static let pathDuplicate = Self(rawValue: "path-duplicate")
  /// Two paths differ only by case or by Unicode normalization.
  public static let pathAmbiguous = Self(rawValue: "path-ambiguous")
  /// A path leads through what another path names as a file.
  public static let pathInsideFile = Self(rawValue: "path-inside-file")
  /// The package is longer than allowed.
  public static let packageTooLarge = Self(rawValue: "package-too-large")
  /// The package has no bytes or no files.
  public static let packageEmpty = Self(rawValue: "package-empty")
  /// The package has more files than allowed.
  public static let tooManyFiles = Self(rawValue: "too-many-files")
  /// The files together are longer than allowed once unpacked.
  public static let unpackedTooLarge = Self(rawValue: "unpacked-too-large")
  /// A deflated file unpacks to more times its stored length than allowed.
  public static let unpackRatioTooHigh = Self(rawValue: "unpack-ratio-too-high")

  // What may not be in a package.
  /// There is a symbolic link.
  public static let symbolicLink = Self(rawValue: "symbolic-link")
  /// There is a device, a socket or a pipe.
  public static let notARegularFile = Self(rawValue: "not-a-regular-file")
  /// There is a program.
  public static let executable = Self(rawValue: "executable")
  /// A file was not the same from the beginning of packing to its end.
  public static let changedWhilePacking = Self(rawValue: "changed-while-packing")
  /// The source folder has more levels than are followed.
  public static let folderTooDeep = Self(rawValue: "folder-too-deep")
  /// A `ContentInfo.plist` is not as hosted content has it.
  public static let contentInfoInvalid = Self(rawValue: "content-info-invalid")

  // The package's bytes against the manifest.
  /// The package has another length than the manifest says.
  public static let lengthMismatch = Self(rawValue: "length-mismatch")
  /// The package has another digest than the manifest says.
  public static let digestMismatch = Self(rawValue: "digest-mismatch")
  /// A piece has another digest than the manifest says.
  public static let pieceMismatch = Self(rawValue: "piece-mismatch")
  /// An unpacked file has another digest than the manifest says.
  public static let fileDigestMismatch = Self(rawValue: "file-digest-mismatch")
  /// An unpacked file has another length than the manifest says.
  public static let fileLengthMismatch = Self(rawValue: "file-length-mismatch")
  /// An entry has another CRC-32 than its archive says.
  public static let fileChecksumMismatch = Self(rawValue: "file-checksum-mismatch")
  /// A deflated stream is damaged, or ends too early or too late.
  public static let compressedDataInvalid = Self(rawValue: "compressed-data-invalid")

  // The publisher's signature of the manifest.
  /// A signature is needed and there is none.
  public static let signatureMissing = Self(rawValue: "signature-missing")
  /// A signature is not one of this manifest by the key it names.
  public static let signatureInvalid = Self(rawValue: "signature-invalid")
  /// A signature is by a key that the product does not name.
  public static let signatureKeyUnknown = Self(rawValue: "signature-key-unknown")
  /// No signature is by a key that signed an earlier version on this device.
  public static let signatureKeyChanged = Self(rawValue: "signature-key-changed")
  /// No signature is by a key that the device was configured to trust.
  public static let signatureKeyUntrusted = Self(rawValue: "signature-key-untrusted")

  // The archive's own order.
  /// The archive's records are not where or as the format says.
  public static let archiveMalformed = Self(rawValue: "archive-malformed")
  /// The archive uses a feature of ZIP that not every reader knows.
  public static let archiveFeatureUnsupported = Self(rawValue: "archive-feature-unsupported")
  /// An entry is encrypted.
  public static let archiveEncrypted = Self(rawValue: "archive-encrypted")
  /// Two entries share bytes.
  public static let archiveEntriesOverlap = Self(rawValue: "archive-entries-overlap")
  /// Bytes of the archive belong to no entry and no record.
  public static let archiveHiddenData = Self(rawValue: "archive-hidden-data")
  /// An entry's local header and the central directory contradict each other.
  public static let archiveHeadersDisagree = Self(rawValue: "archive-headers-disagree")
  /// The archive has an entry that the manifest does not list.
  public static let archiveEntryUnlisted = Self(rawValue: "archive-entry-unlisted")
  /// The manifest lists a file that the archive does not have.
  public static let archiveEntryMissing = Self(rawValue: "archive-entry-missing")
  /// An entry lies elsewhere or otherwise than the manifest says.
  public static let archiveDisagreesWithManifest = Self(rawValue: "archive-disagrees-with-manifest")
}
