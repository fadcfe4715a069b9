import Commerce
import ContentPackage
import PullboxAPI
import ServiceRuntime
import SystemCalls

enum VerifyCommand: Command {
  static let peer = CommandPeer.offline
  static let description = CommandDescription(
    "verify", summary: "Compare a package with its manifest, down to every byte of every file",
    discussion: """
      The signatures in FILE.signatures.json are checked too, where there are any.
      """,
    operands: [.init("FILE")],
    options: [
      .value(
        "manifest", "FILE", environment: .some(nil), help: "The manifest, where it is not beside the package")
    ])

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
    let faults = try await TransferBar.show("reading \(FileSystem.lastPart(of: path))") { bar in
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
        "\(path) is not what its manifest says:\n" + CommandFailure.indented(faults.map(\.description)))
    }
    if !context.console.printsJSON {
      context.console.print("\(path): whole, \(manifest.length), \(manifest.pieces.count) pieces")
      for key in signers.sorted() { context.console.print("signed by \(key)") }
    }
  }
}
