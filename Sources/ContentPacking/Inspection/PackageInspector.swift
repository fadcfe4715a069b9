public import ContentPackage
public import CoreTypes
public import Crypto
public import SystemCalls

/// Decides whether a package may be published: compares it with its manifest, down to every byte of every file, and an
/// archive with itself. It reads the package once, in bounded memory, and blocks meanwhile.
///
/// ```swift
/// let issues = try PackageInspector().faults(in: file, received: received, against: manifest)
/// guard issues.isEmpty else { throw PackageValidationError(issues) }
/// ```
public struct PackageInspector: Sendable {
  /// The bounds that a package is held to.
  public let limits: PackageLimits

  /// Creates an inspector; it may inspect any number of packages.
  public init(limits: PackageLimits = .standard) {
    self.limits = limits
  }

  /// Everything that is wrong with the package in `file`; empty for one that may be published. `received` is what was
  /// computed of its bytes already, so they are not hashed again as a whole. Throws `SystemError` when it cannot be read.
  public func faults(
    in file: borrowing FileDescriptor, received: ReceivedPackage, against manifest: Manifest
  ) throws -> [PackageValidationIssue] {
    var faults = wholeFaults(received, manifest)
    // Offsets mean nothing in a file of another length.
    guard received.length == manifest.length else { return faults }
    switch manifest.kind {
    case .file:
      faults += try SingleFileInspection(
        file, name: manifest.name ?? "", length: manifest.length, limits: limits
      ).faults
    case .folder:
      let archive = try ArchiveInspection(file, length: manifest.length, limits: limits)
      faults += archive.faults
      faults += archive.faults(against: manifest)
      for entry in manifest.files {
        faults += try contentFaults(of: entry, in: file, checksum: archive.checksums[entry.path])
      }
    }
    return faults
  }

  /// Length, digest and pieces against the manifest. Each piece that differs is a fault of its own.
  private func wholeFaults(_ received: ReceivedPackage, _ manifest: Manifest) -> [PackageValidationIssue] {
    var faults: [PackageValidationIssue] = []
    if received.length > limits.maximumLength {
      faults.append(
        PackageValidationIssue(
          .packageTooLarge,
          "the package has \(received.length.rawValue) bytes, at most \(limits.maximumLength.rawValue) are allowed"
        ))
    }
    if received.length != manifest.length {
      faults.append(
        PackageValidationIssue(
          .lengthMismatch,
          "the package has \(received.length.rawValue) bytes, the manifest says \(manifest.length.rawValue)"))
    }
    if received.digest != manifest.digest {
      faults.append(
        PackageValidationIssue(
          .digestMismatch, "the package's digest is \(received.digest), the manifest says \(manifest.digest)"
        ))
    }
    for (index, (piece, listed)) in zip(received.pieces, manifest.pieces).enumerated() where piece != listed {
      faults.append(
        PackageValidationIssue(.pieceMismatch, "piece \(index) is not the one the manifest lists"))
    }
    if received.pieces.count != manifest.pieces.count {
      faults.append(
        PackageValidationIssue(
          .pieceMismatch, "\(received.pieces.count) pieces, the manifest lists \(manifest.pieces.count)"))
    }
    return faults
  }

  /// Reads the file's bytes out of the package. `checksum` is the archive's, nil when it has no such entry. A
  /// file that cannot be unpacked has the one fault that says so.
  private func contentFaults(
    of entry: ManifestFile, in file: borrowing FileDescriptor, checksum: UInt32?
  ) throws -> [PackageValidationIssue] {
    let path = entry.path.text
    var check = CRC32()
    var prefix: [UInt8] = []
    func look(_ chunk: Span<UInt8>) {
      check.update(chunk)
      let missing = chunk.extracting(first: max(0, ExecutableSignature.prefixLength - prefix.count))
      for index in missing.indices { prefix.append(missing[index]) }
    }
    let digest: SHA256Digest
    do {
      digest = try Self.read(entry, in: file, look)
    } catch let refusal as PackageValidationError {
      return refusal.faults
    }
    var faults: [PackageValidationIssue] = []
    if digest != entry.digest {
      faults.append(
        PackageValidationIssue(.fileDigestMismatch, path: path, "its bytes are not those the manifest lists"))
    }
    if let checksum, checksum != check.value {
      faults.append(
        PackageValidationIssue(
          .fileChecksumMismatch, path: path, "its CRC-32 is not the one the archive gives"))
    }
    if let kind = ExecutableSignature.find(in: prefix, hasExecuteBit: false) {
      faults.append(PackageValidationIssue(.executable, path: path, "\(kind) is not published"))
    }
    return faults
  }

  /// Hands each chunk to `look` and answers the digest of the file's bytes. Throws ``PackageValidationError``
  /// for what does not unpack to the length that the manifest says.
  private static func read(
    _ entry: ManifestFile, in file: borrowing FileDescriptor, _ look: (Span<UInt8>) -> Void
  ) throws -> SHA256Digest {
    guard entry.method == .stored else {
      return try Inflation.run(file, range: entry.storedRange, of: entry, look)
    }
    var hasher = SHA256Hasher()
    let isWhole = try FileDigest.forEachChunk(of: file, in: entry.storedRange) { chunk in
      hasher.update(chunk)
      look(chunk)
    }
    guard isWhole else {
      throw PackageValidationError(
        .fileLengthMismatch, path: entry.path.text, "the package ends inside the file")
    }
    return hasher.finalize()
  }
}

/// The length and the digests of a package, computed while its bytes came in.
public struct ReceivedPackage: Hashable, Sendable {
  /// Bytes of the package.
  public let length: ByteCount
  /// The digest of the package.
  public let digest: SHA256Digest
  /// The digest of each piece; see ``PieceLayout``.
  public let pieces: [SHA256Digest]

  /// Creates the description of bytes that the caller has hashed itself.
  public init(length: ByteCount, digest: SHA256Digest, pieces: [SHA256Digest]) {
    self.length = length
    self.digest = digest
    self.pieces = pieces
  }
}
