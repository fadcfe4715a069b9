import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `publish DIR|FILE`: packs, uploads and submits one version.
///
/// Every step finds what an earlier run has done, so that the command is repeated after a failure: a product
/// that is there is not created again, an upload goes on where it stopped, a version with the same digest is
/// not sent again, and review steps that were taken are not taken twice. docs/command-line.md lists the
/// steps.
enum PublishCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "publish", summary: "Pack, upload and submit a content version",
    discussion: """
      A folder's product.json5, or the ContentInfo.plist beside its Contents, names \
      the product and the version. The command creates a product that the server \
      does not know, from that description or as a free product with the title of its \
      ComicInfo.xml, MetronInfo.xml or EPUB, else the folder's name. A folder with nothing \
      but a description (a subscription) only creates or changes the product. A package \
      that 'pack' wrote is uploaded with the manifest and the signatures beside it. \
      A single file that is no publication by its bytes (a script, a text, an Office \
      document, a RAR archive) is sent with --as-file only. If an upload was interrupted, \
      repeat the command: it continues where the upload stopped.
      """,
    operands: [.init("DIR|FILE", completion: .file)],
    options: [
      .value(
        "product", "ID", environment: .none, help: "Identifier of the product, instead of the description's"),
      .value("version", "V", environment: .none, help: "Version, instead of the description's"),
      .value(
        "manifest", "FILE", environment: .none,
        help: "Path of the package's manifest, if it is not beside the package"),
      SigningKeys.option,
      .flag(
        "as-file", environment: .none,
        help: "Publish a single file as it is, even if it is no publication that readers open"),
      .flag("release", environment: .none, help: "Also approve and release the version"),
      .flag("draft", environment: .none, help: "Do not submit the version for review"),
      .flag(
        "update", environment: .none,
        help: "Also change a product that the server knows to its description"),
    ] + SectionOptions.options)

  /// Packs before it creates the product, so that content that is refused leaves nothing at the server. Keys
  /// that the product does not name are refused before packing.
  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let manifestPath = context.arguments.value("manifest")
    let source = try await BlockingPool.shared.run {
      try PublishSource(inspecting: path, manifest: manifestPath)
    }
    let sections = try SectionOptions.rules(context.arguments)
    try SectionOptions.check(sections, of: source)
    let product = try product(of: source, context)
    let client = try context.patientClient()
    if source.form == .descriptionOnly {
      let entry = try await client.put(product, source.description ?? source.defaultDescription())
      return try ProductsCommand.print([entry], on: context.console)
    }
    let version = try version(of: source, context)
    let known = try await client.product(product)?.product
    let isKnown = known != nil
    let keys = try await BlockingPool.shared.run { try signingKeys(for: source, context.arguments) }
    if let named = known?.publisherKeys { try keys.check(against: named, product) }

    let previous =
      isKnown ? try await manifest(before: version, of: product, source: source, client: client) : nil

    // Held to the end: the package lies there until it is sent.
    let work = try await BlockingPool.shared.run { try CommandStateDirectory().makeWorkDirectory() }
    let package = try await PreparedPackage.make(
      from: source, product: product, version: version, output: work.path + "/package.zip",
      sections: sections, following: previous, on: context.console)
    if let previous, !previous.sections.isEmpty, package.packed.manifest.sections.isEmpty {
      let tags = previous.sections.map(\.tag.description).joined(separator: ", ")
      context.console.note("version \(previous.version) has sections (\(tags)), and this one has none")
    }
    if !context.arguments.isSet("as-file") { try requirePublication(package, at: path) }
    PublicationNotes(package.packed).note(on: context.console)
    if !isKnown || context.arguments.isSet("update") {
      var description =
        source.description ?? source.defaultDescription(title: package.packed.manifest.displayTitle)
      // Content of a product that is new here is signed from the first version on.
      if !isKnown, description.publisherKeys == nil { description.publisherKeys = keys.identifiers }
      if isKnown {
        try await client.put(product, description)
      } else {
        // Where another publisher has described it in the meantime, it stays as it is.
        try await client.create(product, description)
      }
    }
    let clock = SystemMonotonicClock()
    let start = clock.now()
    var record = try await upload(
      package, of: product, version: version, keys: keys, client: client, on: context.console)
    let sent = clock.now() - start
    record = try await advance(record, client: client, context)
    try report(record, package: package, sent: sent, on: context.console)
    withExtendedLifetime(work) {}
  }

  /// Throws a failure for a single file that is no publication, so that it is not sent by mistake. The operator has to
  /// give `--as-file` for it.
  private static func requirePublication(
    _ package: PreparedPackage, at path: String
  ) throws(CommandFailure) {
    guard let format = package.packed.report.format, !format.isPublication else { return }
    let name = FileSystem.lastPart(of: path)
    let reason =
      format == .rar
      ? "\(name) is a RAR archive, whose pages cannot be counted or checked here: pack them as .cbz, or "
      : "\(name) is \(format.clause), and no publication (PDF, EPUB, CBZ, CB7, CBT, MOBI, DjVu, FictionBook): "
    throw CommandFailure(
      .failed, reason + "give --as-file to deliver it as the one file that it is; nothing was sent")
  }

  /// The manifest that the new package is laid out after: that of the same version, when the server has it already and the
  /// command is repeated, else that of the highest version below. Nil without one, and for what is not a folder.
  private static func manifest(
    before version: ContentVersion, of product: ProductIdentifier, source: PublishSource,
    client: OperatorClient
  ) async throws -> Manifest? {
    guard source.form == .folder else { return nil }
    var nearest: VersionRecord?
    _ = try await Paging.forEachPage {
      try await client.versions(of: product, after: $0)
    } body: { records in
      let candidates = records + [nearest].compactMap { $0 }
      nearest = candidates.filter { $0.version <= version }.max { $0.version < $1.version }
      return true
    }
    guard let nearest else { return nil }
    return try await client.manifest(of: nearest)
  }

  /// Answers the version at the server. Sends nothing when the server has it with these bytes, unless it has found out that they are
  /// damaged or missing there: then these take their place.
  private static func upload(
    _ package: PreparedPackage, of product: ProductIdentifier, version: ContentVersion,
    keys: SigningKeys, client: OperatorClient, on console: Console
  ) async throws -> VersionRecord {
    let manifest = package.packed.manifest
    if let existing = try await client.version(version, of: product) {
      guard existing.digest == manifest.digest else {
        throw CommandFailure(
          .failed,
          "\(product) \(version) is at the server with other content, and versions never change; "
            + "give the new content a new --version")
      }
      let faults = try await client.scrubPackages(begins: false).faults
      guard faults.contains(where: { $0.digest == existing.digest }) else { return existing }
      console.note("the server's package of \(product) \(version) is damaged: it is sent again")
    }
    let source = UploadSource(
      path: package.path, length: manifest.length, digest: manifest.digest,
      name: manifest.name ?? "\(product)-\(version).zip")
    let uploader = client.uploader(resumeFile: CommandStateDirectory().ledger)
    let upload = try await TransferBar.show("sending \(source.name)", on: console) { bar in
      try await uploader.upload(source) { bar.report($0) }
    }
    let record = try await client.createVersion(
      of: product,
      VersionSubmission(
        upload: upload, version: version, manifest: Base64.encode(manifest.canonicalBytes()),
        signatures: keys.signatures(of: manifest)))
    await uploader.forget(source)
    return record
  }

  /// Takes the review steps that the options ask for and that are missing.
  private static func advance(
    _ record: VersionRecord, client: OperatorClient, _ context: CommandContext
  ) async throws -> VersionRecord {
    var record = record
    while let step = nextStep(
      record.state, submits: !context.arguments.isSet("draft"), releases: context.arguments.isSet("release"))
    {
      do throws(APICallError) {
        record = try await client.perform(step, on: record.product, version: record.version)
      } catch {
        guard case .problem(let problem) = error, problem.code == .forbidden else { throw error }
        throw CommandFailure(
          .failed,
          "\(record.product) \(record.version) is \(record.state.rawValue), and this key may not \(step.rawValue) it: "
            + (problem.detail ?? problem.title))
      }
    }
    return record
  }

  /// The next step of the review; nil once the version is where the options want it.
  ///
  /// - Parameters:
  ///   - submits: false with `--draft`.
  ///   - releases: `--release`, which submits in any case.
  static func nextStep(_ state: VersionState, submits: Bool, releases: Bool) -> ReviewStep? {
    switch state {
    case .draft, .rejected: submits || releases ? .submit : nil
    case .submitted: releases ? .approve : nil
    case .approved, .superseded: releases ? .release : nil
    case .released, .withdrawn: nil
    }
  }

  /// Times are those of packing, or reading, and of sending with the server's check.
  private static func report(
    _ record: VersionRecord, package: PreparedPackage, sent: Duration, on console: Console
  ) throws {
    if console.printsJSON {
      try console.print(json: record)
      return
    }
    let manifest = package.packed.manifest
    console.print("\(record.product) \(record.version): \(record.state.rawValue)")
    console.print(
      "  size    \(record.length) (\(record.length.rawValue) bytes), \(CountText.of(record.files, "file"))")
    console.print("  pieces  \(record.pieces) of \(PieceLayout.pieceLength)")
    console.print("  sha256  \(record.digest)")
    if let title = manifest.displayTitle { console.print("  title   \(title)") }
    console.print(
      "  time    \(DurationText.elapsed(package.duration)) to pack, \(DurationText.elapsed(sent)) to send and check"
    )
    if let next = VersionsCommand.nextCommand(record) { console.note("next: \(next)") }
  }
}

extension TransferBar {
  /// A note in place of the speed says what is waited for.
  fileprivate func report(_ progress: UploadProgress) {
    let note: String? =
      switch progress.activity {
      case .asking: "asking the server"
      case .sending: progress.sent == progress.total ? "the server checks the package" : nil
      case .waiting(.problem(let problem), let delay):
        "\(problem.title); again in \(DurationText.elapsed(delay))"
      case .waiting(_, let delay): "the server does not answer; again in \(DurationText.elapsed(delay))"
      }
    report(progress.sent, of: progress.total, note: note)
  }
}

/// Product, version and keys, from the command line or else from the source.
extension PublishCommand {
  /// Blocks. Throws for signatures beside a package that are not of its manifest. A folder and a single file
  /// are signed with the keys of the arguments. A package keeps the signatures beside it and gains those of
  /// the arguments.
  static func signingKeys(
    for source: PublishSource, _ arguments: ParsedArguments
  ) throws -> SigningKeys {
    guard case .package(let manifest) = source.form else { return try SigningKeys(arguments) }
    let stored = try StoredSignatures.read(StoredSignatures.path(beside: source.path))
    _ = try SignaturePolicy(named: []).signers(of: manifest.canonicalBytes(), signatures: stored)
    return try SigningKeys(arguments, stored: stored)
  }

  /// The option comes before the description. For a package both must agree, since its manifest is signed.
  static func product(
    of source: PublishSource, _ context: CommandContext
  ) throws(UsageError) -> ProductIdentifier {
    if let given = try context.arguments.value("product").map(CommandContext.product) {
      if case .package(let manifest) = source.form, given != manifest.product {
        throw UsageError(
          "the package is of \(manifest.product), and its manifest is signed; pack it as \(given)")
      }
      return given
    }
    if let described = source.product { return described }
    throw UsageError("the product is unknown; give --product\(alternative("an id", in: source))")
  }

  /// It is found as ``product(of:_:)`` finds the product.
  static func version(
    of source: PublishSource, _ context: CommandContext
  ) throws(UsageError) -> ContentVersion {
    if let given = try context.arguments.value("version").map(CommandContext.version) {
      if case .package(let manifest) = source.form, given != manifest.version {
        throw UsageError(
          "this package is version \(manifest.version), and its manifest is signed; pack it as \(given)")
      }
      return given
    }
    if let described = source.version { return described }
    throw UsageError("the version is unknown; give --version\(alternative("a version", in: source))")
  }

  /// The other way to name a missing member: the folder's description. Empty for a file, which has none.
  private static func alternative(_ member: String, in source: PublishSource) -> String {
    source.isFile ? "" : ", or \(member) in \(source.path)/\(SourceFolder.productDescriptionName)"
  }
}
