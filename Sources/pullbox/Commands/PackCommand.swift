import Commerce
import ContentPackage
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

enum PackCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "pack", summary: "Make a package of a folder, and its manifest beside it",
    discussion: """
      The same files give the same bytes. The manifest is written to
      FILE.manifest.json; its product and version are the description's unless
      given. Its signatures are written to FILE.signatures.json.
      """,
    operands: [.init("DIR")],
    options: [
      .value("output", "FILE", abbreviation: "o", environment: .some(nil), help: "The package to write"),
      .value("product", "ID", environment: .some(nil), help: "Which product"),
      .value("version", "V", environment: .some(nil), help: "Which version; 1 unless given or described"),
      .value(
        "previous", "FILE", environment: .some(nil),
        help: "The manifest of the version before, or its package: what did not change keeps its bytes"),
      SigningKeys.option,
    ])

  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let output = try context.arguments.required("output")
    let source = try await BlockingPool.shared.run { try PublishSource(inspecting: path) }
    guard source.form == .folder else {
      throw CommandFailure(.failed, "\(path) is no folder of files; a finished file is a package as it is")
    }
    let product = try context.arguments.value("product").map(CommandContext.product) ?? source.product
    guard let product = product ?? ProductIdentifier(source.name) else {
      throw UsageError("which product is this? give --product: '\(source.name)' cannot be its identifier")
    }
    let version =
      try context.arguments.value("version").map(CommandContext.version) ?? source.version
      ?? CommandContext.version("1")
    let keys = try await BlockingPool.shared.run { try SigningKeys(context.arguments) }
    let previousPath = context.arguments.value("previous")
    let previous = try await BlockingPool.shared.run { try previousPath.map(Self.previousManifest) }
    let package = try await PreparedPackage.make(
      from: source, product: product, version: version, output: output, following: previous)
    let manifest = package.packed.manifest
    try await BlockingPool.shared.run {
      try StoredSignatures.write(keys.signatures(of: manifest), to: StoredSignatures.path(beside: output))
      try StoredManifest.write(manifest, to: StoredManifest.path(beside: output))
    }
    try ManifestReport.print(manifest, listsFiles: false, context.console)
  }

  private static func previousManifest(_ path: String) throws -> Manifest {
    if let manifest = try StoredManifest.read(StoredManifest.path(beside: path)) { return manifest }
    guard let manifest = try StoredManifest.read(path) else {
      throw CommandFailure(.failed, "there is no manifest at \(path), and none beside it")
    }
    return manifest
  }
}
