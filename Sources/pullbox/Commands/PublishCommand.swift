import PullboxAPIClient
import Commerce
import ContentPackage
import Crypto
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

enum PublishCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "publish", summary: "Pack, send and hand in a content version",
    discussion: """
      A folder's product.json5, or the ContentInfo.plist beside its Contents, says
      which product and version it is. A product that
      the server does not know is created, from that description or as a free
      product of the folder's name. A folder with nothing but a description (a
      subscription) only creates or changes the product. A package that 'pack' made
      is sent with the manifest and the signatures that lie beside it. An upload
      that was broken off goes on where it stood when the same command is given again.
      """,
    operands: [.init("DIR|FILE")],
    options: [
      .value("product", "ID", environment: .some(nil), help: "Which product, whatever the description says"),
      .value("version", "V", environment: .some(nil), help: "Which version, whatever the description says"),
      .value(
        "manifest", "FILE", environment: .some(nil),
        help: "The manifest of a package, where it is not beside it"),
      SigningKeys.option,
      .flag("release", environment: .some(nil), help: "Also approve and release it"),
      .flag("draft", environment: .some(nil), help: "Do not hand it in for review"),
      .flag(
        "update", environment: .some(nil),
        help: "Also change a product that the server knows to what the description says"),
    ])

  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let manifestPath = context.arguments.value("manifest")
    let source = try await BlockingPool.shared.run {
      try PublishSource(inspecting: path, manifest: manifestPath)
    }
    let product = try product(of: source, context)
    let client = try context.patientClient()
    if source.form == .descriptionOnly {
      let entry = try await client.put(product, source.description ?? source.defaultDescription)
      return try ProductsCommand.print([entry], context.console)
    }
    let version = try version(of: source, context)
    let known = try await client.product(product)?.product
    let isKnown = known != nil
    let keys = try await BlockingPool.shared.run { try signingKeys(for: source, context.arguments) }
    if let named = known?.publisherKeys { try keys.check(against: named, product) }

    let versions =
      isKnown ? try await Paging.all { try await client.versions(of: product, after: $0) } : []
    let previous = try await Self.previous(to: version, of: source, among: versions, client)

    // Held to the end: the package lies there until it is sent.
    let work = try await BlockingPool.shared.run { try CommandStateDirectory().makeWorkDirectory() }
    let package = try await PreparedPackage.make(
      from: source, product: product, version: version, output: work.path + "/package.zip",
      following: previous)
    for skipped in package.packed.skipped
    where skipped.reason != .productDescription && skipped.reason != .contentInfo {
      context.console.note("not packed: \(skipped.path) (\(skipped.reason.rawValue))")
    }
    if !isKnown || context.arguments.isSet("update") {
      var description = source.description ?? source.defaultDescription
      // Content of a product that is new here is signed from the first version on.
      if !isKnown, description.publisherKeys == nil { description.publisherKeys = keys.identifiers }
      try await client.put(product, description)
    }
    let clock = SystemMonotonicClock()
    let start = clock.now()
    var record = try await deliver(package, product, version, keys, client)
    let sent = clock.now() - start
    record = try await advance(record, client, context)
    try report(record, package, sent: sent, context.console)
    withExtendedLifetime(work) {}
  }

  /// The package that the new one is laid out after: the same version's, when it is there already and this is a repetition,
  /// else that of the highest version below.
  private static func previous(
    to version: ContentVersion, of source: PublishSource, among versions: [VersionRecord],
    _ client: OperatorClient
  ) async throws -> Manifest? {
    guard source.form == .folder else { return nil }
    let records = versions.filter { $0.version <= version }
    guard let record = records.max(by: { $0.version < $1.version }) else { return nil }
    return try await client.manifest(of: record)
  }

  /// The version at the server; nothing is sent when it is there with these bytes.
  private static func deliver(
    _ package: PreparedPackage, _ product: ProductIdentifier, _ version: ContentVersion,
    _ keys: SigningKeys, _ client: OperatorClient
  ) async throws -> VersionRecord {
    let manifest = package.packed.manifest
    if let existing = try await client.version(product, version) {
      guard existing.digest == manifest.digest else {
        throw CommandFailure(
          .failed,
          "\(product) \(version) is at the server with other content, and versions never change; "
            + "give the new content a new --version")
      }
      return existing
    }
    let source = UploadSource(
      path: package.path, length: manifest.length, digest: manifest.digest,
      name: manifest.name ?? "\(product)-\(version).zip")
    let uploader = client.uploader(ledger: CommandStateDirectory().ledger)
    let upload = try await TransferBar.show("sending \(source.name)") { bar in
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

  /// Takes the steps that are asked for and not taken yet.
  private static func advance(
    _ record: VersionRecord, _ client: OperatorClient, _ context: CommandContext
  ) async throws -> VersionRecord {
    var record = record
    while let step = nextStep(
      record.state, submits: !context.arguments.isSet("draft"), releases: context.arguments.isSet("release"))
    {
      do throws(APICallError) {
        record = try await client.take(step, record.product, record.version)
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

  static func nextStep(_ state: VersionState, submits: Bool, releases: Bool) -> ReviewStep? {
    switch state {
    case .draft, .rejected: submits || releases ? .submit : nil
    case .submitted: releases ? .approve : nil
    case .approved, .superseded: releases ? .release : nil
    case .released, .withdrawn: nil
    }
  }

  private static func report(
    _ record: VersionRecord, _ package: PreparedPackage, sent: Duration, _ console: Console
  ) throws {
    if console.printsJSON {
      try console.print(json: record)
      return
    }
    let manifest = package.packed.manifest
    console.print("\(record.product) \(record.version): \(record.state.rawValue)")
    console.print("  size    \(record.length) (\(record.length.rawValue) bytes), \(record.files) files")
    console.print("  pieces  \(record.pieces) of \(PieceLayout.pieceLength)")
    console.print("  sha256  \(record.digest)")
    if let title = manifest.title { console.print("  title   \(title)") }
    console.print(
      "  time    \(SecondsText.of(package.duration)) to pack, \(SecondsText.of(sent)) to send and check")
  }
}

extension TransferBar {
  fileprivate func report(_ progress: UploadProgress) {
    let note: String? =
      switch progress.activity {
      case .asking: "asking the server"
      case .sending: progress.sent == progress.total ? "the server checks it" : nil
      case .waiting(.problem(let problem), let delay): "\(problem.title); again in \(SecondsText.of(delay))"
      case .waiting(_, let delay): "the server does not answer; again in \(SecondsText.of(delay))"
      }
    report(progress.sent, of: progress.total, note: note)
  }
}
