public import CoreTypes

/// The bounds of a package. Both sides check the same ones; they are documented in docs/formats/package.md.
public struct PackageLimits: Hashable, Sendable {
  /// Bytes of the package as it travels.
  public var maximumLength = ByteCount(2_147_483_648)
  /// Files in a package; directories are not counted, they follow from the paths.
  public var maximumFiles = 65_535
  /// Bytes of a manifest in its canonical form.
  public var maximumManifestLength = ByteCount.mebibytes(16)
  /// Bytes of all files together once unpacked.
  public var maximumUnpackedLength = ByteCount.gibibytes(8)
  /// A deflated file longer than ``ratioAllowance`` may be at most so many times its stored length.
  public var maximumRatio: Int64 = 100
  /// Deflated files up to this length are not held to ``maximumRatio``.
  public var ratioAllowance = ByteCount.mebibytes(1)
  /// All files together may have so many bytes beside ``maximumRatio`` times the package's length.
  public var totalRatioAllowance = ByteCount.mebibytes(64)
  /// Bytes of a `ComicInfo.xml` or the like that is read for its metadata; a longer one is carried, not read.
  public var maximumMetadataLength = ByteCount.mebibytes(1)

  /// The bounds of ``standard``.
  public init() {}

  /// The documented bounds, which server and devices check.
  public static let standard = PackageLimits()

  /// Whether a deflated file of `length` bytes may be stored in `storedLength`.
  package func allowsRatio(length: ByteCount, storedLength: ByteCount) -> Bool {
    length <= ratioAllowance || isWithinRatio(length: length, storedLength: storedLength)
  }

  /// The same without the allowance: if it holds for every file that a packer deflates, the total rule holds.
  package func isWithinRatio(length: ByteCount, storedLength: ByteCount) -> Bool {
    let (bound, overflow) = storedLength.rawValue.multipliedReportingOverflow(by: maximumRatio)
    return overflow || length.rawValue <= bound
  }

  /// Whether files of `unpackedLength` bytes together may lie in a package of `length` bytes. Many files below
  /// ``ratioAllowance`` could be anything otherwise.
  package func allowsTotalRatio(unpackedLength: ByteCount, length: ByteCount) -> Bool {
    unpackedLength <= totalRatioAllowance
      || isWithinRatio(length: unpackedLength - totalRatioAllowance, storedLength: length)
  }

  /// The issue of files that are too long together for their package.
  package func totalRatioIssue(unpackedLength: some BinaryInteger, length: ByteCount)
    -> PackageValidationIssue
  {
    PackageValidationIssue(
      .unpackRatioTooHigh,
      "\(unpackedLength) bytes of files from a package of \(length.rawValue) are more than \(maximumRatio) to 1 and \(totalRatioAllowance) beside"
    )
  }
}
