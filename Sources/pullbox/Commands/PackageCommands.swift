import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `pack DIR -o FILE`: writes the package, then its signatures, then its manifest (docs/formats/manifest.md).
/// The manifest comes last, so that a package that has one beside it has its signatures as well.
enum PackCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "pack", summary: "Pack a folder into a package, with its manifest beside it",
    discussion: """
      The same files give the same bytes. The command writes the manifest to
      FILE.manifest.json and its signatures to FILE.signatures.json. Product and
      version are those of the folder's description unless given.
      """,
    operands: [.init("DIR", completion: .directory)],
    options: [
      .value("output", "FILE", abbreviation: "o", environment: .none, help: "Path of the package to write"),
      .value("product", "ID", environment: .none, help: "Identifier of the product"),
      .value("version", "V", environment: .none, help: "Version; 1 unless given or described"),
      .value(
        "previous", "FILE", environment: .none,
        help: "Manifest or package of the version before; unchanged files keep their bytes"),
      SigningKeys.option,
    ] + SectionOptions.options)

  /// The folder's own name is the product where neither the option nor the description names one, if it is an
  /// identifier.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let output = try context.arguments.required("output")
    let sections = try SectionOptions.rules(context.arguments)
    let source = try await BlockingPool.shared.run { try PublishSource(inspecting: path) }
    guard source.form == .folder else {
      throw CommandFailure(
        .failed,
        source.form == .descriptionOnly
          ? "\(path) has nothing to pack but a description"
          : "\(path) is not a folder of files; a single file is a package as it is, and 'publish' sends it")
    }
    let product = try context.arguments.value("product").map(CommandContext.product) ?? source.product
    guard let product = product ?? ProductIdentifier(source.name) else {
      throw UsageError("the product is unknown; give --product, as '\(source.name)' is not an identifier")
    }
    let version =
      try context.arguments.value("version").map(CommandContext.version) ?? source.version
      ?? CommandContext.version("1")
    let keys = try await BlockingPool.shared.run { try SigningKeys(context.arguments) }
    let previousPath = context.arguments.value("previous")
    let previous = try await BlockingPool.shared.run { try previousPath.map(Self.previousManifest) }
    let package = try await PreparedPackage.make(
      from: source, product: product, version: version, output: output, sections: sections,
      following: previous, on: context.console)
    let manifest = package.packed.manifest
    try await BlockingPool.shared.run {
      try StoredSignatures.write(keys.signatures(of: manifest), to: StoredSignatures.path(beside: output))
      try StoredManifest.write(manifest, to: StoredManifest.path(beside: output))
    }
    PublicationNotes(package.packed).note(on: context.console)
    try ManifestReport.print(manifest, listsFiles: false, on: context.console)
    context.console.note("next: pullbox publish \(output)")
  }

  /// The manifest beside `path`, else the one at it. Blocks. Throws where there is neither.
  private static func previousManifest(_ path: String) throws -> Manifest {
    if let manifest = try StoredManifest.read(StoredManifest.path(beside: path)) { return manifest }
    guard let manifest = try StoredManifest.read(path) else {
      throw CommandFailure(.failed, "there is no manifest at \(path), and none beside it")
    }
    return manifest
  }
}

/// `inspect DIR|FILE`: the manifest beside a file, the manifest itself, or that of the package that the file
/// or folder would be. Nothing stays on the disk.
enum InspectCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "inspect", summary: "Show the manifest of a package, of a file or of a folder",
    discussion: """
      If FILE.manifest.json exists, the command shows that manifest and does not read
      the package. Otherwise it reads the file, or packs the folder aside, and shows
      the manifest that it would get as a package, and then the files in it that are no
      pages, and oddities. With --json these are a second object, if there are any.
      """,
    operands: [.init("DIR|FILE", completion: .file)])

  /// Reads or packs on the blocking pool. A folder is packed into a directory of this run, which is removed at the end.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let isFolder = try await BlockingPool.shared.run { () throws(SystemError) in
      try FileSystem.isDirectory(path)
    }
    let package =
      isFolder
      ? try await packedAside(path, on: context.console)
      : try await BlockingPool.shared.run { try describe(path) }
    try ManifestReport.print(
      package.manifest, report: package.report, listsFiles: true, on: context.console)
    let notes = PublicationNotes(package)
    guard !notes.report.isEmpty else { return }
    if context.console.printsJSON {
      try context.console.print(json: PublicationNotesDocument(notes))
    } else {
      context.console.print("")
      for line in notes.lines { context.console.print(line) }
    }
  }

  /// The folder as 'publish' would send it; what is packed is removed again. A folder that names neither
  /// product nor version is packed under its own name and version 0.
  private static func packedAside(_ path: String, on console: Console) async throws -> PackedPackage {
    let source = try await BlockingPool.shared.run { try PublishSource(inspecting: path) }
    guard source.form == .folder else {
      throw CommandFailure(.failed, "\(path) has nothing to pack but a description")
    }
    let name = source.name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    guard let product = source.product ?? ProductIdentifier(name),
      let version = source.version ?? ContentVersion("0")
    else {
      throw UsageError("'\(source.name)' has no letter that could name it")
    }
    let work = try await BlockingPool.shared.run { try CommandStateDirectory().makeWorkDirectory() }
    let package = try await PreparedPackage.make(
      from: source, product: product, version: version, output: work.path + "/package.zip", following: nil,
      on: console)
    withExtendedLifetime(work) {}
    return package.packed
  }

  /// Blocks, for as long as it takes to read the whole file where there is no manifest. The product is the
  /// file's name less what no identifier has, and the version 0.
  private static func describe(_ path: String) throws -> PackedPackage {
    if let stored = try StoredManifest.read(StoredManifest.path(beside: path)) {
      return PackedPackage(manifest: stored, skipped: [])
    }
    if path.hasSuffix(".manifest.json"), let stored = try StoredManifest.read(path) {
      return PackedPackage(manifest: stored, skipped: [])
    }
    let name = FileSystem.lastPart(of: path)
    let product = ProductIdentifier(name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
    guard let product, let version = ContentVersion("0") else {
      throw UsageError("'\(name)' has no letter that could name it")
    }
    return try PackageBuilder(product: product, version: version).describe(file: path)
  }
}

/// `verify FILE`: reads the package twice, once for its digest and pieces and once for the files in it.
/// Faults are exit code 6, and a manifest that is not there is 1.
enum VerifyCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "verify", summary: "Compare a package with its manifest, down to every byte of every file",
    discussion: """
      The command also checks the signatures in FILE.signatures.json, if there are any.
      """,
    operands: [.init("FILE", completion: .file)],
    options: [
      .value(
        "manifest", "FILE", environment: .none, help: "Path of the manifest, if it is not beside the package")
    ])

  /// A signature that is not of the manifest throws before the package is read. Which keys count is not
  /// asked: all valid ones are named.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let manifestPath = context.arguments.value("manifest") ?? StoredManifest.path(beside: path)
    let manifest = try await BlockingPool.shared.run { try StoredManifest.read(manifestPath) }
    guard let manifest else {
      throw CommandFailure(
        .failed, "there is no manifest at \(manifestPath) to compare with; name it with --manifest")
    }
    let signatures = try await BlockingPool.shared.run {
      try StoredSignatures.read(StoredSignatures.path(beside: path))
    }
    let signers = try SignaturePolicy(named: []).signers(
      of: manifest.canonicalBytes(), signatures: signatures)
    let faults = try await TransferBar.show("reading \(FileSystem.lastPart(of: path))", on: context.console) {
      bar in
      try await BlockingPool.shared.run { () throws -> [PackageValidationIssue] in
        let builder = PackageBuilder(product: manifest.product, version: manifest.version)
        let found = try builder.describe(file: path) { bar.report($0, of: $1) }.manifest
        let received = ReceivedPackage(length: found.length, digest: found.digest, pieces: found.pieces)
        return try PackageInspector().faults(
          in: try FileDescriptor.open(path, .readOnly), received: received, against: manifest)
      }
    }
    if context.console.printsJSON {
      for fault in faults { try context.console.print(json: fault) }
    }
    guard faults.isEmpty else {
      throw CommandFailure(
        .integrity,
        "\(path) is not what its manifest says:", details: faults.map(\.description))
    }
    if !context.console.printsJSON {
      context.console.print("\(path): whole, \(manifest.length), \(manifest.pieces.count) pieces")
      for key in signers.sorted() { context.console.print("signed by \(key)") }
    }
  }
}

/// The text of a manifest, for people.
enum ManifestReport {
  /// With `--json` the manifest's canonical bytes and a line feed, so that their SHA-256 without it is the
  /// manifest's digest.
  ///
  /// - Parameters:
  ///   - report: tells cover and format where the manifest does not.
  ///   - listsFiles: whether a table of the files follows.
  static func print(
    _ manifest: Manifest, report: PublicationReport = PublicationReport(), listsFiles: Bool,
    on console: Console
  ) throws {
    if console.printsJSON {
      console.print(bytes: manifest.canonicalBytes() + [0x0A])
      return
    }
    var rows = [
      ("product", "\(manifest.product) \(manifest.version)"),
      ("kind", manifest.kind == .file ? "single file \(manifest.name ?? "")" : "packed folder"),
      ("media type", manifest.mediaType.text),
      ("size", "\(manifest.length) (\(manifest.length.rawValue) bytes)"),
      ("unpacked", "\(manifest.unpackedLength) in \(CountText.of(manifest.files.count, "file"))"),
      ("pieces", "\(manifest.pieces.count) of \(PieceLayout.pieceLength)"),
      ("sha256", manifest.digest.hexadecimal),
      ("manifest", manifest.manifestDigest.hexadecimal),
    ]
    if let title = manifest.displayTitle { rows.append(("title", title)) }
    if let pages = manifest.pageCount { rows.append(("pages", String(pages))) }
    if let cover = manifest.cover?.text ?? report.cover { rows.append(("cover", cover)) }
    if let format = report.format { rows.append(("content", format.clause)) }
    rows += sectionRows(manifest)
    for (name, text) in rows {
      console.print(name + String(repeating: " ", count: 12 - name.count) + text)
    }
    guard listsFiles, !manifest.files.isEmpty else { return }
    let hasSections = !manifest.sections.isEmpty
    let table = TextTable(
      columns: [.number("SIZE"), .number("STORED"), .text("METHOD")]
        + (hasSections ? [.text("SECTION")] : []) + [.text("FILE")],
      rows: manifest.files.map { file in
        [file.length.description, file.storedLength.description, file.method.rawValue]
          + (hasSections ? [file.section?.description ?? "-"] : []) + [file.path.text]
      })
    console.print("")
    for line in table.lines(width: Terminal.standardOutput.columns) { console.print(line) }
  }

  /// A row for the part that is fetched with the content, and one for each section with what it adds to that.
  private static func sectionRows(_ manifest: Manifest) -> [(String, String)] {
    guard !manifest.sections.isEmpty else { return [] }
    let required = manifest.selecting([])
    var rows = [
      (
        "required",
        "\(PieceMap(required).bytesNeeded) of the package, \(CountText.of(required.files.count, "file"))"
      )
    ]
    for section in manifest.sections {
      let files = manifest.files.filter { $0.section == section.tag }
      let length = files.reduce(ByteCount.zero) { $0 + $1.storedLength }
      let title = section.titles.sorted { $0.key < $1.key }.first.map { ", \($0.value)" } ?? ""
      rows.append(
        (
          "section",
          "\(section.tag) (\(section.policy.rawValue)): \(length), \(CountText.of(files.count, "file"))\(title)"
        ))
    }
    return rows
  }
}
