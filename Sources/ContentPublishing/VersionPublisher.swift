import BlobStore
import Commerce
import ContentCatalog
import ContentPackage
import ContentPacking
package import CoreTypes
import Crypto
package import Database
import DeliveryModel
import DeliveryRecords
package import PackageStorage
import PullboxAPI
import ServiceAPI
package import SystemCalls

/// From a complete upload to a version that can be reviewed. docs/publishing.md ("The first version") shows it.
package struct VersionPublisher: Sendable {
  package let database: Database
  /// Has the package to be checked.
  package let shelf: any PackageShelf
  /// Gives up the bytes of the upload.
  package let uploads: UploadService
  /// Removes a refused package, unless another version needs it.
  package let collector: GarbageCollector
  /// Told of bytes that were just put on the shelf.
  package let scrubber: PackageScrubber
  package let clock: any WallClock
  /// Where packages are read and checked, each up to 2 GiB.
  package let checks: BlockingPool

  package init(
    database: Database, shelf: any PackageShelf, uploads: UploadService, collector: GarbageCollector,
    scrubber: PackageScrubber, clock: any WallClock, checks: BlockingPool
  ) {
    self.database = database
    self.shelf = shelf
    self.uploads = uploads
    self.collector = collector
    self.scrubber = scrubber
    self.clock = clock
    self.checks = checks
  }

  /// Makes a version of an upload. The same version with the same bytes again is the one there is (`isNew`
  /// false); with other bytes, `version-conflict`. Throws `package-rejected` with every fault. The upload
  /// stays until it expires, so that a client whose answer was lost can ask again.
  ///
  /// A refused package is removed at once, with its upload. Throws also `product-unknown`, `request-malformed`
  /// for a manifest that is not base 64, and what ``UploadService/takeOver(_:)`` throws.
  func createVersion(
    of product: ProductIdentifier, from submission: VersionSubmission, by actor: String
  ) async throws -> (record: VersionRecord, isNew: Bool) {
    let known = try await database.read { connection in
      guard let entry = try ProductTable.find(product, in: connection) else {
        throw try Problem.unknownProduct(product, in: connection)
      }
      return entry.product
    }
    let manifestBytes = try Self.manifestBytes(of: submission)
    // The upload's address, as tus gave it, names it as well as its last part does.
    let name = submission.upload.split(separator: "/").last.map(String.init) ?? submission.upload
    let (upload, received) = try await uploads.takeOver(name)
    // Where the upload took the place of a missing or damaged package, that one is whole again.
    try await scrubber.noteWhole(received.digest)
    let signatures = submission.signatures ?? []
    let manifest: Manifest
    let previews: [PreviewTable.Preview]
    do {
      (manifest, previews) = try await check(
        received, against: manifestBytes, signatures: signatures, name: Self.fileName(of: upload),
        product: known, version: submission.version)
    } catch let refusal as PackageValidationError {
      try await discard(upload, received)
      throw Problem(
        .packageRejected, "\(refusal.faults.count) found",
        faults: refusal.faults.map { fault in
          Problem.Fault(code: fault.code.rawValue, path: fault.path, detail: fault.detail)
        })
    }
    return try await record(
      manifest, previews: previews, signatures: signatures, upload: upload, by: actor)
  }

  /// Reads the package against its manifest, or describes a single file that came without one; and the
  /// signatures against what the product asks for.
  private func check(
    _ received: BlobDescription, against manifestBytes: [UInt8]?, signatures: [PublisherSignature],
    name: String?, product: Product, version: ContentVersion
  ) async throws -> (Manifest, [PreviewTable.Preview]) {
    let shared = try await shelf.openWhole(received.digest)
    return try await checks.run {
      var faults: [PackageValidationIssue] = []
      do throws(PackageValidationError) {
        // A manifest that the server writes itself is not signed.
        _ = try SignaturePolicy(named: Set(product.publisherKeys ?? [])).signers(
          of: manifestBytes ?? [], signatures: signatures)
      } catch {
        faults += error.faults
      }
      guard let manifestBytes else {
        do {
          let manifest = try Manifest.describing(
            singleFile: shared.file, name: name ?? "\(product.id).bin", product: product.id,
            version: version, length: received.length, digest: received.digest, pieces: received.pieces)
          guard faults.isEmpty else { throw PackageValidationError(faults) }
          return (
            manifest, try PackagePreviews.read(from: shared.file, manifest, samples: product.samples ?? [])
          )
        } catch let refusal as PackageValidationError where refusal.faults != faults {
          throw PackageValidationError(faults + refusal.faults)
        }
      }
      let manifest: Manifest
      do throws(PackageValidationError) {
        manifest = try UnverifiedManifest(manifestBytes).proposed()
      } catch {
        throw PackageValidationError(faults + error.faults)
      }
      if manifest.product != product.id {
        faults.append(
          PackageValidationIssue(.manifestMemberInvalid, path: "product", "it names \(manifest.product)"))
      }
      if manifest.version != version {
        faults.append(
          PackageValidationIssue(.manifestMemberInvalid, path: "version", "it names \(manifest.version)"))
      }
      faults += try PackageInspector().faults(
        in: shared.file,
        received: ReceivedPackage(
          length: received.length, digest: received.digest, pieces: received.pieces), against: manifest)
      guard faults.isEmpty else { throw PackageValidationError(faults) }
      return (
        manifest, try PackagePreviews.read(from: shared.file, manifest, samples: product.samples ?? [])
      )
    }
  }

  /// Writes the version with its manifest, previews and signatures in one transaction, as a draft. Throws
  /// `upload-expired` where the upload went meanwhile, and `version-conflict`.
  private func record(
    _ manifest: Manifest, previews: [PreviewTable.Preview], signatures: [PublisherSignature], upload: Upload,
    by actor: String
  ) async throws -> (record: VersionRecord, isNew: Bool) {
    let now = clock.now()
    let locks = [
      DatabaseLock.product(manifest.product), .upload(upload.id), .content(manifest.digest),
    ]
    return try await database.write(locking: locks) { connection in
      // The upload's row keeps the package from being collected: without it, it may be gone.
      guard try UploadTable.find(upload.id, in: connection)?.digest == manifest.digest else {
        throw Problem(.uploadExpired)
      }
      if let existing = try VersionTable.find(manifest.product, manifest.version, in: connection) {
        guard existing.digest == manifest.digest else {
          throw Problem(
            .versionConflict, "\(manifest.product) \(existing.version) has the digest \(existing.digest)")
        }
        return (existing, false)
      }
      let record = VersionRecord(
        product: manifest.product, version: manifest.version, state: .draft, length: manifest.length,
        digest: manifest.digest, manifestDigest: manifest.manifestDigest, pieces: manifest.pieces.count,
        files: manifest.files.count, created: now)
      try VersionTable.insert(
        record, manifest: manifest.canonicalBytes(), cover: manifest.cover?.text,
        title: manifest.displayTitle,
        in: connection)
      try PreviewTable.insert(previews, of: record.product, record.version, in: connection)
      if try PackageCheckTable.fault(of: record.digest, in: connection) == nil {
        try PackageCheckTable.record(nil, of: record.digest, at: now, in: connection)
      }
      try SignatureTable.insert(signatures, of: record.product, record.version, in: connection)
      try AuditTable.add(
        AuditEntry(
          at: now, actor: actor, action: "version.create", subject: "\(manifest.product) \(manifest.version)",
          detail: manifest.digest.hexadecimal), in: connection)
      return (record, true)
    }
  }

  /// A refused package is of no use, unless another version has the same bytes.
  private func discard(_ upload: Upload, _ received: BlobDescription) async throws {
    try await database.write(locking: [.upload(upload.id)]) { try UploadTable.remove(upload.id, in: $0) }
    _ = try await collector.removeIfUnneeded(received.digest)
  }

  /// Returns the submitted manifest; nil for a file that comes without one.
  private static func manifestBytes(of submission: VersionSubmission) throws(Problem) -> [UInt8]? {
    guard let text = submission.manifest else { return nil }
    guard let bytes = Base64.decodeLines(text) else {
      throw Problem(.requestMalformed, "manifest is not base 64")
    }
    return bytes
  }

  private static func fileName(of upload: Upload) -> String? {
    UploadMetadata(upload.metadata)?["filename"]
  }
}
