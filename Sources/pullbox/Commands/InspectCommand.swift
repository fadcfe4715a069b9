import Commerce
import ContentPackage
import ServiceRuntime
import SystemCalls

enum InspectCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "inspect", summary: "Show what a package is",
    discussion: """
      A package that 'pack' made is shown by the manifest beside it, without reading
      the package. Any other file is read and shown as the package it would be.
      """,
    operands: [.init("FILE")])

  static func run(_ context: CommandContext) async throws {
    let path = try context.operand(0)
    let manifest = try await BlockingPool.shared.run { try describe(path) }
    try ManifestReport.print(manifest, listsFiles: true, context.console)
  }

  private static func describe(_ path: String) throws -> Manifest {
    if let stored = try StoredManifest.read(StoredManifest.path(beside: path)) { return stored }
    if path.hasSuffix(".manifest.json"), let stored = try StoredManifest.read(path) { return stored }
    let name = FileSystem.lastPart(of: path)
    let product = ProductIdentifier(name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
    guard let product, let version = ContentVersion("0") else {
      throw UsageError("'\(name)' has no letter that could name it")
    }
    return try PackageBuilder(product: product, version: version).describe(file: path).manifest
  }
}
