import BlobStore
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import Files
import PostgreSQLEngine
import PullboxAPI
import RecordTransfer
import ServiceAPI
import SystemCalls

/// Reads a state directory, or a generation of a backup, beside a server that runs or without one: the database, every package
/// against its digest, every record against its package; of a generation also every file against the manifest. What is
/// faulty can be taken from a backup. See docs/operations.md ("Damaged packages").
struct StateCheck: Sendable {
  /// The state directory, or the directory of a generation.
  let state: String
  /// The database of the records; nil for the file in the directory, which a generation always has.
  var database: PostgreSQLAddress?
  /// The object store of the packages; nil where they lie in the directory, as those of a generation always do.
  var store: PackageStorePlace?
  /// Whether the lengths of packages alone are compared, and none is read.
  var comparesLengths = false
  /// Where packages are taken from that are missing or damaged.
  var repair: PackageRepair?
  /// Bounds the bytes that are read a second.
  var rate = ReadingRate()

  /// Blocks while all of it is read. Throws ``StateCareError`` `noState` or `damaged`, what the database says
  /// where it cannot be read at all, and the errors of files.
  ///
  /// Files of a generation come first, then the database, and then the packages in the order of their digests.
  /// A package that is found missing is looked for again, since a collection may run beside the check.
  func run() throws -> StateCheckReport {
    var report = StateCheckReport()
    // Before the database is opened, which writes a log into it that is beside it.
    let manifest = try manifestOfGeneration()
    if let manifest { report.files = try faults(ofFilesIn: manifest) }
    var place = StatePlace(directory: state)
    if manifest == nil { (place.database, place.store) = (database, store) }
    let records = try place.openRecords(for: "check")
    let packages = try PlacedPackages(of: place)
    try packages.checkInstallation(of: place, for: "check")
    // Before the database: what comes later has its record by then.
    let stored = try packages.list()
    var needs = try records.read { connection in
      // The server of a database looks after its own pages.
      if case .file = records { report.database = try connection.faults() }
      report.database += try Self.manifestFaults(in: connection)
      return try PackageNeed.all(in: connection)
    }
    let restored = Set(manifest?.packages.map(\.digest) ?? [])
    if let manifest {
      let known = restored.union(manifest.absent.map(\.digest))
      for (digest, need) in needs
      where need.isRequired && manifest.packagesIn == nil && !known.contains(digest) {
        report.files.append("\(BackupManifest.fileName) lacks the package \(digest), which the database has")
      }
      for package in manifest.packages {
        needs[package.digest] = PackageNeed(length: package.length, isRequired: true)
      }
    }
    do {
      _ = try TicketKeyFile.load(TicketKeyFile.path(in: state))
    } catch {
      report.files.append("\(error)")
    }
    // They lie elsewhere.
    if manifest?.packagesIn != nil { needs = [:] }
    report.unreferenced = stored.keys.filter { needs[$0] == nil }.sorted { $0.hexadecimal < $1.hexadecimal }
    for digest in needs.keys.sorted(by: { $0.hexadecimal < $1.hexadecimal }) {
      let fault: PackageFault?
      do throws(BlobStoreError) {
        fault = try self.fault(of: digest, needs[digest]?.length, in: packages)
      } catch {
        switch error.code {
        case .notFound: fault = .missing
        // A device that cannot read it: the bytes are not there.
        case .unreadable, .inputOutput: fault = .damaged
        default: throw error
        }
      }
      if fault != .missing { report.packages += 1 }
      // What the manifest names is restored, also for a version that was withdrawn.
      guard let fault,
        try restored.contains(digest) || isStillFaulty(digest, fault, in: packages, by: records)
      else {
        continue
      }
      report.faults.append(
        StateCheckReport.Item(
          digest: digest, fault: fault, versions: try versions(of: digest, by: records),
          isRepaired: try repair?.repair(digest) ?? false))
    }
    return report
  }

  /// Nil for a package that is whole, or as long as the records say where lengths alone are compared.
  private func fault(
    of digest: SHA256Digest, _ length: ByteCount?, in packages: PlacedPackages
  ) throws(BlobStoreError) -> PackageFault? {
    guard comparesLengths else {
      return try packages.isWhole(digest, didRead: rate.didRead) ? nil : .damaged
    }
    guard let found = try packages.length(of: digest) else { return .missing }
    return found == length ?? found ? nil : .damaged
  }

  /// Nil where the directory is no generation of a backup. Throws ``StateCareError`` `damaged` for a log beside the database of
  /// one: no backup makes it, and to open the database would change that.
  private func manifestOfGeneration() throws -> BackupManifest? {
    guard try FileSystem.status(of: "\(state)/\(BackupManifest.fileName)") != nil else { return nil }
    for suffix in ["-wal", "-journal"] {
      let path = "\(state)/server.db\(suffix)"
      guard let status = try FileSystem.status(of: path), status.length > .zero else { continue }
      throw StateCareError(
        .damaged,
        "\(path) is of no backup: another program has opened the database there, which would change when it is opened again"
      )
    }
    return try BackupGeneration(name: FileSystem.lastPart(of: state), path: state).manifest()
  }

  /// Compares the files of a generation with its manifest, and describes what differs.
  private func faults(ofFilesIn manifest: BackupManifest) throws -> [String] {
    var faults: [String] = []
    for file in manifest.files {
      let path = "\(state)/\(file.name)"
      if try FileSystem.status(of: path) == nil {
        faults.append("\(path) is missing")
      } else if try StateFiles.digest(of: path) != file.sha256 {
        faults.append("\(path): its bytes are not those of the backup")
      }
    }
    return faults
  }

  /// Whether the package is faulty still. A missing package is a fault only where a version that was not withdrawn has it,
  /// and the file is missing still.
  private func isStillFaulty(
    _ digest: SHA256Digest, _ fault: PackageFault, in packages: PlacedPackages, by records: OpenRecords
  ) throws -> Bool {
    guard fault == .missing else { return true }
    let needs = try records.read { try PackageNeed.all(in: $0) }
    return try needs[digest]?.isRequired == true && packages.length(of: digest) == nil
  }

  /// The versions that have the package, as texts for people.
  private func versions(of digest: SHA256Digest, by records: OpenRecords) throws -> [String] {
    try records.read { connection in
      try connection.query(
        "SELECT product, version FROM versions WHERE digest = ? ORDER BY product, version", [.digest(digest)]
      ).map { "\(try $0.text("product")) \(try $0.text("version"))" }
    }
  }

  private static let manifests = RecordTable(
    name: "manifests",
    columns: [.init(name: "digest", isText: false), .init(name: "document", isText: false)], key: ["digest"])

  /// Compares every stored manifest with its digest, and finds versions without one.
  private static func manifestFaults(in connection: borrowing Connection) throws -> [String] {
    var faults: [String] = []
    var pages = RecordPages(of: manifests)
    while let page = try pages.next(in: connection) {
      for row in page {
        let digest = try row.digest("digest")
        if SHA256Digest.of(try row.blob("document")) != digest {
          faults.append("the manifest \(digest) is damaged")
        }
      }
    }
    let lost = try connection.query(
      "SELECT product, version FROM versions WHERE manifest_digest NOT IN (SELECT digest FROM manifests)")
    return faults
      + (try lost.map { "the manifest of \(try $0.text("product")) \(try $0.text("version")) is missing" })
  }
}

/// The findings of a ``StateCheck``.
struct StateCheckReport: Codable, Sendable {
  /// A package that was found missing or damaged.
  struct Item: Codable, Hashable, Sendable {
    var digest: SHA256Digest
    /// The fault as it was before a repair.
    var fault: PackageFault
    /// Products and versions that have it.
    var versions: [String]
    /// The right bytes are in its place now.
    var isRepaired: Bool
  }

  /// Packages that were read.
  var packages = 0
  /// By digest.
  var faults: [Item] = []
  /// The faults of the database and of the manifests in it.
  var database: [String] = []
  /// The faults of other files.
  var files: [String] = []
  /// Packages that no record refers to, which garbage collection removes.
  var unreferenced: [SHA256Digest] = []

  /// Nothing is wrong any more.
  var isWhole: Bool { database.isEmpty && files.isEmpty && faults.allSatisfy(\.isRepaired) }
}

/// Puts packages in the place of missing or damaged ones, taken from whichever generation of a backup has them whole. A server
/// that runs notices within half a minute.
struct PackageRepair: Sendable {
  /// The state directory, which a server may use meanwhile.
  let state: String
  /// The object store of the packages; nil where they lie in the directory.
  var store: PackageStorePlace?
  let directory: BackupDirectory
  var rate = ReadingRate()

  /// Whether the right bytes are there now. A generation in which the package is missing, damaged or cannot be read is passed
  /// over. Blocks; throws the errors of files. The newest generation is tried first. The bytes are compared
  /// with the digest and synced before they take their place.
  func repair(_ digest: SHA256Digest) throws -> Bool {
    let target = try PlacedPackages(of: StatePlace(directory: state, store: store))
    let hold = try BlobDirectory(state).holdRemovals()
    defer { withExtendedLifetime(hold) {} }
    for generation in try directory.generations() {
      do throws(BlobStoreError) {
        try target.put(digest, from: generation.packages, synchronizing: true, didRead: rate.didRead)
        return true
      } catch {
        guard error.isOfSource else { throw error }
      }
    }
    return false
  }
}
