package import AgentRecords
package import Commerce
package import ContentPackage
import CoreTypes
import Crypto
import Files
import PullboxAPI
import ServiceRuntime
package import SystemCalls

// Manifests lie beside the content, hidden from a plain listing, so that the library explains itself without the agent's
// records: `PRODUCT/.pullbox/VERSION` holds the canonical bytes, and `PRODUCT/.pullbox/pinned` is there for what is pinned, and a cover for what came by itself.
// Every call blocks.
extension Library {
  private static let folderName = ".pullbox"
  private static let pinName = "pinned"

  /// Holds the manifests, the pin and the cover of the product.
  package func folder(of product: ProductIdentifier) -> String {
    "\(paths.library)/\(product)/\(Self.folderName)"
  }

  private func path(of product: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(folder(of: product))/\(version)"
  }

  /// Durable, in place of what lies there. The bytes are the canonical ones, whose SHA-256 is the manifest's
  /// digest.
  package func write(_ manifest: Manifest) throws(SystemError) {
    try makeFolders(folder(of: manifest.product))
    try DurableFile.write(
      manifest.canonicalBytes().span, to: path(of: manifest.product, manifest.version),
      operations: operations)
  }

  /// The manifest that the record was placed by; nil when it is missing or cannot be read, or another lies there.
  package func manifest(of record: LibraryRecord) throws(SystemError) -> Manifest? {
    guard let digest = record.manifestDigest,
      let bytes = try read(path(of: record.product, record.version))
    else { return nil }
    guard let whole = try? UnverifiedManifest(bytes).verified(against: digest) else { return nil }
    return record.sections.map(whole.selecting) ?? whole
  }

  /// The status of the file that holds the record's manifest; nil where there is none, or it cannot be looked at.
  func statusOfManifest(of record: LibraryRecord) throws(SystemError) -> FileStatus? {
    do throws(SystemError) {
      return try operations.status(of: path(of: record.product, record.version))
    } catch {
      guard error.isUnreadable else { throw error }
      return nil
    }
  }

  /// Nil where there is none, or it cannot be read.
  private func read(_ path: String) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      guard let status = try operations.status(of: path), status.kind == .regular,
        status.length <= PackageLimits.standard.maximumManifestLength
      else { return nil }
      return try operations.read(path, upTo: PackageLimits.standard.maximumManifestLength)
    } catch {
      guard error.isUnreadable else { throw error }
      return nil
    }
  }

  /// Drops the record, the manifest and what is empty then.
  package func forget(_ record: LibraryRecord) throws {
    try operations.remove(path(of: record.product, record.version))
    try database.remove(record)
    guard try database.libraryRecords().allSatisfy({ $0.product != record.product }) else { return }
    try removeFolder(of: record.product)
  }

  /// An empty file stands for a pin.
  func writePin(_ isPinned: Bool, of product: ProductIdentifier) throws(SystemError) {
    let path = "\(folder(of: product))/\(Self.pinName)"
    guard isPinned else {
      try operations.remove(path)
      return
    }
    try makeFolders(folder(of: product))
    let nothing: [UInt8] = []
    try DurableFile.write(nothing.span, to: path, operations: operations)
  }

  /// Puts the manifests that an earlier version of the agent kept in its records beside the content. One that
  /// does not fit its record, or whose content is not there, is dropped.
  func moveManifests() throws {
    for (record, bytes) in try database.manifestsInRecords() {
      var record = record
      if try operations.status(of: directory(of: record)) != nil,
        let manifest = try? UnverifiedManifest(bytes).proposed(), manifest.product == record.product,
        manifest.version == record.version, manifest.digest == record.digest
      {
        try write(manifest)
        record.manifestDigest = manifest.manifestDigest
      }
      try database.save(record, stamps: nil)
    }
  }

  /// Makes records of the content that lies in the library with its manifest, unless it has one; the server is to be asked what it is
  /// called and how it looks. Nothing of it counts as checked; of what cannot be looked at there is none.
  func importContent() throws {
    var count = 0
    for entry in try operations.list(paths.library) where entry.kind == .directory {
      guard let product = ProductIdentifier(entry.name) else { continue }
      let names = try unlessUnreadable(folder(of: product)) { path throws(SystemError) in
        try operations.status(of: path)?.kind == .directory ? operations.list(path).map(\.name) : []
      }
      for name in names ?? [] {
        guard let version = ContentVersion(name), version.description == name,
          try database.libraryRecord(of: product, version: version) == nil
        else { continue }
        let isPinned = names?.contains(Self.pinName) == true
        guard
          let record = try recordOfContent(product, version, isPinned: isPinned, isWithdrawn: false)
            ?? recordOfContent(product, version, isPinned: isPinned, isWithdrawn: true)
        else { continue }
        try database.save(record, stamps: nil)
        try database.expectListing(of: product)
        count += 1
      }
    }
    log.info("records were made of what the library holds", ["count": LogValue(count)])
  }

  /// Nil, with a line in the log, where that path does not come back from the device or is not for this user.
  private func unlessUnreadable<Value>(
    _ path: String, _ body: (String) throws(SystemError) -> Value
  ) throws(SystemError) -> Value? {
    do throws(SystemError) {
      return try body(path)
    } catch {
      guard error.isUnreadable else { throw error }
      log.warning(
        "no record is made of what cannot be read", ["path": LogValue(path), "error": LogValue(error)])
      return nil
    }
  }

  /// Nil for what has no manifest beside it that fits its name. Only lengths are compared.
  private func recordOfContent(
    _ product: ProductIdentifier, _ version: ContentVersion, isPinned: Bool, isWithdrawn: Bool
  ) throws -> LibraryRecord? {
    let content =
      isWithdrawn
      ? "\(paths.withdrawn)/\(product)/\(version)" : directory(of: product, version: version)
    let isThere = try unlessUnreadable(content) { path throws(SystemError) in
      try operations.status(of: path)?.kind == .directory
    }
    guard isThere == true else { return nil }
    let kept = try unlessUnreadable(path(of: product, version)) {
      path throws(SystemError) -> (bytes: [UInt8], time: Timestamp)? in
      guard let status = try operations.status(of: path), status.kind == .regular,
        status.length <= PackageLimits.standard.maximumManifestLength
      else { return nil }
      let bytes = try operations.read(path, upTo: PackageLimits.standard.maximumManifestLength)
      return (bytes, status.modified)
    }
    guard case .some(.some(let kept)) = kept, let whole = try? UnverifiedManifest(kept.bytes).proposed(),
      whole.product == product, whole.version == version
    else { return nil }
    let manifest = try selecting(sectionsOf: whole, thatLieAt: content)
    let finding: ContentCheck.Finding
    do {
      finding = try ContentCheck(manifest, at: content, operations: operations).run(
        .lengths, now: clock.now())
    } catch let error as SystemError where error.isUnreadable {
      finding = ContentCheck.Finding(.init(path: "", .damaged))
    }
    // The manifest is written just before the content is placed.
    var record = LibraryRecord(manifest, placedAt: kept.time, sizeOnDisk: finding.sizeOnDisk)
    record.isPinned = isPinned
    record.isWithdrawn = isWithdrawn
    record.isDamaged = !finding.isWhole
    return record
  }
}
