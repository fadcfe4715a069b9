import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import ServiceRuntime

/// `pullbox-server backup`, `restore` and `check`: what they take, and what they print. All block.
/// docs/operations.md shows how they are used.
enum BackupCommands {
  /// The option of all three commands that bounds their reading. Neither a variable nor a key of the file
  /// stands for it.
  private static let rate = CommandOption.value(
    "rate", "SIZE", environment: .none, key: .none, help: "Read at most so many bytes a second, such as 50MiB"
  )
  private static let json = CommandOption.flag("json", environment: .none, key: .none, help: "Print JSON")

  /// The description of `backup`, from which its help and its manual are made.
  static let backup = CommandDescription(
    "backup", summary: "Back the state directory up while the server runs",
    discussion: """
      Adds a generation to DIR: the database as it is now, every package that it refers to, and the ticket keys. Packages \
      that the generation before has are linked where the file system can do that. A backup that does not end leaves the \
      earlier generations as they were. Records in PostgreSQL (--database) become a file, so that the generation can be \
      restored to either; packages of an object store are fetched, each compared with its digest, if --config names the store. \
      Exit code 6: all is there but packages that are missing or damaged in the state.
      """,
    operands: [.init("DIR")],
    options: [
      .value(
        "keep", "N", environment: .none, key: .none,
        help: "Remove older generations than the newest N; all stay without it"),
      .flag(
        "without-packages", environment: .none, key: .none,
        help: "Leave packages that lie in an object store there alone: the generation names the store"),
      rate, json,
    ])

  /// The description of `restore`, from which its help and its manual are made.
  static let restore = CommandDescription(
    "restore", summary: "Put a backup into an empty state directory",
    discussion: """
      Takes the newest complete generation of DIR, compares every byte with its digest, and says so when all is there. Given \
      again after it was killed, it goes on. With a configuration that has 'packages' they go into that object store. With --database the records go into that database, which has to be empty. With \
      --package only that package is put into a state directory in use, in place of a missing or damaged one.
      """,
    operands: [.init("DIR")],
    options: [
      .value(
        "generation", "NAME", environment: .none, key: .none, help: "This generation; the newest without it"),
      .list(
        "package", "DIGEST", environment: .none, key: .none,
        help: "Put this package alone in its place again; may be repeated"),
      rate, json,
    ])

  /// The description of `check`, from which its help and its manual are made.
  static let check = CommandDescription(
    "check", summary: "Compare every package with its digest and every record with its package",
    discussion: """
      Reads all of the state directory, or of a generation of a backup (--state DIR/GENERATION), also while the server runs; \
      packages of an object store are read there, if --config names it. \
      Exit code 0: all is whole; 6: something is not.
      """,
    options: [
      rate,
      .value(
        "repair-from", "DIR", environment: .none, key: .none,
        help: "Take packages that are missing or damaged from the backups in DIR"),
      .flag(
        "lengths", environment: .none, key: .none,
        help: "Compare the lengths of packages, and read none"),
      json,
    ])

  /// Makes a backup and prints its outcome. Exit code 6 where a package is missing or damaged in the state and
  /// in the generation before; what it throws has its code by ``ExitCode/of(_:)``.
  static func runBackup(_ arguments: ParsedArguments, at place: StatePlace) throws -> ExitCode {
    var backup = Backup(
      state: place.directory, directory: BackupDirectory(arguments.operands[0]), database: place.database,
      store: place.store)
    backup.leavesPackages = arguments.isSet("without-packages")
    guard place.store != nil || !backup.leavesPackages else {
      throw UsageError("--without-packages is for packages in an object store, which --config names")
    }
    backup.keep = try arguments.integer("keep", in: 1...100_000)
    backup.rate = try rate(arguments)
    let outcome = try backup.run()
    let manifest = outcome.manifest
    let length = manifest.packages.reduce(ByteCount.zero) { $0 + $1.length }
    for reason in outcome.passedOver {
      complain("an earlier generation is passed over, and nothing is linked to it: \(reason)")
    }
    if let reason = outcome.unrecorded {
      complain("the backup is complete, but the server's metrics do not know of it: \(reason)")
    }
    guard !arguments.isSet("json") else {
      try print(
        BackupReport(
          generation: outcome.generation, made: manifest.made, packages: manifest.packages.count,
          bytes: length,
          linked: outcome.linked, copied: outcome.copied, removed: outcome.removed, absent: manifest.absent))
      return warn(of: manifest)
    }
    print(
      "backup \(outcome.generation): \(manifest.packages.count) packages (\(length)), \(outcome.linked) linked, \(outcome.copied) copied"
    )
    for name in outcome.removed { print("removed \(name)") }
    return warn(of: manifest)
  }

  /// Restores a whole generation, or with `--package` single packages. Throws `UsageError` for options that do
  /// not go together.
  static func runRestore(_ arguments: ParsedArguments, at place: StatePlace) throws -> ExitCode {
    let directory = BackupDirectory(arguments.operands[0])
    let state = place.directory
    let packages = arguments.values("package")
    guard packages.isEmpty else {
      guard arguments.value("generation") == nil else {
        throw UsageError("--package looks in every generation; --generation has no place beside it")
      }
      return try restorePackages(packages, from: directory, to: place, arguments)
    }
    let outcome = try StateRestore(
      state: state, directory: directory, database: place.database, store: place.store,
      generation: arguments.value("generation"), rate: try rate(arguments)
    ).run()
    let manifest = outcome.manifest
    guard !arguments.isSet("json") else {
      try print(
        RestoreReport(
          generation: outcome.generation, made: manifest.made, packages: manifest.packages.map(\.digest),
          absent: manifest.absent))
      return warn(of: manifest)
    }
    print(
      "restored \(outcome.generation): the state of \(manifest.made) with \(manifest.packages.count) packages, each compared with its digest"
    )
    return warn(of: manifest)
  }

  /// Puts single packages into a state directory in use. Exit code 6 where no backup has one of them.
  private static func restorePackages(
    _ names: [String], from directory: BackupDirectory, to place: StatePlace,
    _ arguments: ParsedArguments
  ) throws -> ExitCode {
    let digests = try names.map { name throws(UsageError) in
      guard let digest = SHA256Digest(hexadecimal: name) else {
        throw UsageError("--package takes a digest of 64 hexadecimal digits, not '\(name)'")
      }
      return digest
    }
    let repair = try repair(place, from: directory, rate: try rate(arguments))
    var report = RestoreReport()
    for digest in digests {
      if try repair.repair(digest) {
        report.packages.append(digest)
        if !arguments.isSet("json") { print("restored \(digest)") }
      } else {
        report.absent.append(.init(digest: digest, fault: .missing))
        complain("no backup in \(directory.path) has \(digest)")
      }
    }
    if arguments.isSet("json") { try print(report) }
    return report.absent.isEmpty ? .done : .integrity
  }

  /// Checks a state directory or a generation, and repairs it from a backup where one is given. Exit code 6
  /// where something is faulty still.
  static func runCheck(_ arguments: ParsedArguments, at place: StatePlace) throws -> ExitCode {
    let rate = try rate(arguments)
    let state = place.directory
    var check = StateCheck(state: state, database: place.database, store: place.store, rate: rate)
    check.comparesLengths = arguments.isSet("lengths")
    if let path = arguments.value("repair-from") {
      check.repair = try repair(place, from: BackupDirectory(path), rate: rate)
    }
    let report = try check.run()
    if arguments.isSet("json") {
      try print(report)
    } else {
      for text in report.database + report.files { print(text) }
      for item in report.faults {
        let versions = item.versions.isEmpty ? "an upload" : item.versions.joined(separator: ", ")
        print("\(item.isRepaired ? "repaired" : item.fault.rawValue) \(item.digest) (\(versions))")
      }
      let left = report.faults.count { !$0.isRepaired }
      print("\(left) faulty, \(report.packages) packages read, \(report.unreferenced.count) without a record")
    }
    return report.isWhole ? .done : .integrity
  }

  /// Throws where the directory has no generation.
  private static func repair(
    _ place: StatePlace, from directory: BackupDirectory, rate: ReadingRate
  ) throws -> PackageRepair {
    _ = try directory.generation(nil)
    return PackageRepair(state: place.directory, store: place.store, directory: directory, rate: rate)
  }

  /// Names on standard error what the generation lacks, and returns the exit code for it.
  private static func warn(of manifest: BackupManifest) -> ExitCode {
    for absence in manifest.absent {
      complain("\(absence.fault.rawValue) in the state and in no backup: \(absence.digest)")
    }
    return manifest.absent.isEmpty ? .done : .integrity
  }

  /// Returns the rate that was given; without one nothing is held back. Throws `UsageError` for a text that is
  /// no size.
  private static func rate(_ arguments: ParsedArguments) throws(UsageError) -> ReadingRate {
    guard let text = arguments.value("rate") else { return ReadingRate() }
    guard let size = ConfigurationSize(text), size.bytes > .zero else {
      throw UsageError("--rate takes a number of bytes such as 50MiB, not '\(text)'")
    }
    return ReadingRate(size.bytes)
  }

  /// A line for people, who may read it on a terminal: a backup's text may come from another machine.
  private static func print(_ line: String) {
    StandardStream.output.write(PlainText.line(line) + "\n")
  }

  /// The same on standard error.
  private static func complain(_ line: String) {
    StandardStream.error.write(PlainText.line(line) + "\n")
  }

  /// Prints a document and a line feed.
  private static func print(_ report: some Encodable & Sendable) throws {
    StandardStream.output.write(try APIJSON.encode(report))
    print("")
  }
}

/// The output of `backup --json`.
struct BackupReport: Codable, Hashable, Sendable {
  /// The name of the new generation in its directory.
  var generation: String
  /// The moment at which the database was copied.
  var made: Timestamp
  /// Packages in the generation, linked and copied ones.
  var packages: Int
  /// The length of all packages together.
  var bytes: ByteCount
  /// Packages that share the file of the generation before.
  var linked: Int
  /// Packages that were read and compared with their digests.
  var copied: Int
  /// Earlier generations that are gone.
  var removed: [String]
  /// Packages that a version has and that could not be had.
  var absent: [BackupManifest.Absence]
}

/// The output of `restore --json`.
struct RestoreReport: Codable, Hashable, Sendable {
  /// Nil where packages alone were asked for.
  var generation: String?
  /// The moment at which the generation's database was copied; nil where packages alone were asked for.
  var made: Timestamp?
  /// Those that are in their place now.
  var packages: [SHA256Digest] = []
  /// Packages of the generation that it lacked, or those that no backup has.
  var absent: [BackupManifest.Absence] = []
}
