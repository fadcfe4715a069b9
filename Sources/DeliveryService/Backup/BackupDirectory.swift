import BlobStore
import CoreTypes
import Files
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// A directory of backups: one generation for each, named by its instant, and what is being made or removed, whose names
/// begin with a dot and never count. Nor does anything else whose name is no instant.
///
///     DIR/20261122T051205.123Z/backup.json   what is in it, written last
///                              server.db     the database
///                              ticket-keys.json
///                              blobs/ab/cdef…
struct BackupDirectory: Sendable {
  /// The beginning of the name of a generation that is being made.
  private static let incomplete = ".incomplete-"
  /// The beginning of the name of a generation that is being removed.
  private static let removing = ".removing-"

  /// The path as the operator gave it.
  let path: String
  /// Writes the files; tests have them fail.
  let operations: any FileOperations
  /// Tells which generations have a name that lies too far ahead.
  private let clock: any WallClock

  /// Names a directory, which need not be there yet.
  init(
    _ path: String, operations: any FileOperations = SystemFileOperations(),
    clock: any WallClock = SystemWallClock()
  ) {
    self.path = path
    self.operations = operations
    self.clock = clock
  }

  /// The complete ones, the newest first.
  ///
  /// One whose name lies more than a day ahead was named by a clock that was wrong: it comes last, as if it were older than
  /// all others. So it is not taken for the newest for years, and is the first to go. The day is for clocks of
  /// machines that differ. Empty where there is no directory. Throws ``SystemError``.
  func generations() throws(SystemError) -> [BackupGeneration] {
    guard try operations.status(of: path) != nil else { return [] }
    var names: [String] = []
    for entry in try operations.list(path)
    where entry.kind == .directory && BackupGeneration.isName(entry.name) {
      let manifest = "\(path)/\(entry.name)/\(BackupManifest.fileName)"
      if try operations.status(of: manifest) != nil { names.append(entry.name) }
    }
    let latest = BackupGeneration.name(of: clock.now() + .seconds(86400))
    return names.sorted { ($1 > latest ? 1 : 0, $0) > ($0 > latest ? 1 : 0, $1) }
      .map { BackupGeneration(name: $0, path: "\(path)/\($0)") }
  }

  /// The generation of that name, or the newest. Throws ``StateCareError`` where there is none.
  func generation(_ name: String?) throws -> BackupGeneration {
    let all = try generations()
    guard let found = name == nil ? all.first : all.first(where: { $0.name == name }) else {
      if all.isEmpty, try operations.status(of: "\(path)/\(BackupManifest.fileName)") != nil {
        let real = try FileSystem.realPath(path)
        throw StateCareError(
          .noBackup,
          "\(path) is itself a generation; give \(FileSystem.parent(of: real)) with --generation "
            + FileSystem.lastPart(of: real))
      }
      let known =
        all.isEmpty ? "it has no complete backup" : "it has \(all.map(\.name).joined(separator: ", "))"
      throw StateCareError(.noBackup, "\(path): there is no backup \(name ?? "in it"); \(known)")
    }
    return found
  }

  /// Makes the directory, and takes it for this process. Nil while another one writes there. The lock lasts as
  /// long as the value. Blocks for moments only.
  func claim() throws(SystemError) -> LockFile? {
    try operations.createDirectories(path, permissions: 0o700)
    return try LockFile.acquire("\(path)/.lock")
  }

  /// Removes what processes that were killed left behind.
  func removeLeftovers() throws(SystemError) {
    for entry in try operations.list(path)
    where entry.name.hasPrefix(Self.incomplete) || entry.name.hasPrefix(Self.removing) {
      try operations.removeRecursively("\(path)/\(entry.name)")
    }
  }

  /// A name for a generation of that moment, which none has, and the empty directory in which it is made.
  func begin(at now: Timestamp) throws(SystemError) -> (name: String, incomplete: String) {
    var moment = now
    while try operations.status(of: "\(path)/\(BackupGeneration.name(of: moment))") != nil {
      moment = moment + .milliseconds(1)
    }
    let name = BackupGeneration.name(of: moment)
    let incomplete = "\(path)/\(Self.incomplete)\(name)"
    try operations.createDirectory(incomplete, permissions: 0o700)
    return (name, incomplete)
  }

  /// Syncs all of it, and gives the generation its name. The sync may take as long as the packages are large.
  /// Throws ``SystemError`` also where the name is taken.
  func complete(_ name: String, from incomplete: String) throws(SystemError) {
    let directory = try Directory(opening: path, operations: operations)
    try operations.synchronizeFileSystem(of: directory.descriptor)
    try operations.rename(incomplete, to: "\(path)/\(name)", ifPresent: .refuse)
    try directory.synchronize()
  }

  /// Takes the generation's name away first: one that is half removed is none.
  func remove(_ name: String) throws(SystemError) {
    let removing = "\(path)/\(Self.removing)\(name)"
    try operations.rename("\(path)/\(name)", to: removing)
    try operations.removeRecursively(removing)
  }
}

/// One complete backup. Nothing in it is changed once it has its name.
struct BackupGeneration: Hashable, Sendable {
  /// The instant at which it was begun, as ``name(of:)`` writes it.
  let name: String
  let path: String

  /// `20261122T051205.123Z`: no character that a file system or a program gives a meaning to.
  static func name(of moment: Timestamp) -> String {
    String("\(moment)".filter { $0 != "-" && $0 != ":" })
  }

  /// Whether ``name(of:)`` gives that name to a moment.
  static func isName(_ text: String) -> Bool {
    var characters = Array(text)
    guard characters.count == 20 else { return false }
    let separators: [(index: Int, character: Character)] = [(4, "-"), (7, "-"), (13, ":"), (16, ":")]
    for separator in separators { characters.insert(separator.character, at: separator.index) }
    guard let moment = Timestamp(rfc3339: String(characters)) else { return false }
    return Self.name(of: moment) == text
  }

  /// Throws ``StateDirectoryError`` `damaged` where a state directory is a generation: a server would change it.
  static func refuse(in state: String) throws {
    guard try FileSystem.status(of: "\(state)/\(BackupManifest.fileName)") != nil else { return }
    throw StateDirectoryError(
      .damaged, path: state,
      message: "it is a generation of a backup; put it into an empty directory with 'pullbox-server restore'")
  }

  /// The packages, laid out as in a state directory.
  var packages: BlobDirectory { BlobDirectory(path) }

  /// Throws ``StateCareError`` `damaged` for one that cannot be read, that a later program wrote, or that names other files than
  /// ``BackupManifest/fileNames``; and where one of these, or the manifest, is no regular file.
  func manifest() throws -> BackupManifest {
    let file = "\(path)/\(BackupManifest.fileName)"
    let bytes = try bytes(ofManifest: file)
    let manifest: BackupManifest
    do {
      manifest = try APIJSON.decode(BackupManifest.self, from: bytes)
    } catch {
      throw StateCareError(.damaged, "\(file): \(APIJSON.explain(error))")
    }
    guard manifest.format == BackupManifest.currentFormat else {
      throw StateCareError(.damaged, "\(file): its format is \(manifest.format), this program knows 1")
    }
    guard manifest.files.map(\.name).sorted() == BackupManifest.fileNames else {
      let names = BackupManifest.fileNames.joined(separator: " and ")
      throw StateCareError(.damaged, "\(file): its files are not \(names), each once")
    }
    return manifest
  }

  /// Reads the manifest once all files of the generation were found to be regular ones.
  private func bytes(ofManifest file: String) throws -> [UInt8] {
    do {
      for name in [BackupManifest.fileName] + BackupManifest.fileNames {
        let status = try FileSystem.status(of: "\(path)/\(name)")
        guard status == nil || status?.kind == .regular else {
          throw StateCareError(.damaged, "\(path)/\(name) is no regular file")
        }
      }
      return try FileSystem.read(file, upTo: BackupManifest.maximumLength)
    } catch let error as SystemError where error.isUnreadable || error.isNoRegularFile || error.isTooLarge {
      throw StateCareError(.damaged, "\(file): \(error)")
    }
  }
}
