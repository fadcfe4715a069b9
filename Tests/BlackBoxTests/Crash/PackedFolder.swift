import CoreTypes
import Files
import PullboxAPI
import PullboxTesting
import SystemCalls

/// A folder that `pullbox pack` made a signed package of.
struct PackedFolder: Sendable {
  /// A version as it is handed in.
  struct Submission: Encodable {
    var upload: String
    var version: String
    var manifest: String
    var signatures: [[String: String]]
  }

  let product: String
  let bytes: [UInt8]
  /// The manifest's exact bytes.
  let manifest: [UInt8]
  /// The signatures as `pack` wrote them: key and signature of each.
  let signatures: [[String: String]]

  var keys: [String] { signatures.compactMap { $0["keyId"] } }

  /// Pages that are stored and text that is deflated, together `content.count` bytes and a little more.
  static func make(
    _ product: String, of content: [UInt8], in directory: TemporaryDirectory
  ) async throws -> PackedFolder {
    let source = directory.path("source-\(product)")
    try FileSystem.createDirectories(source, permissions: 0o700)
    for page in 0..<3 {
      let part = Array(content[content.count / 3 * page..<content.count / 3 * (page + 1)])
      try DurableFile.write(part.span, to: "\(source)/\(page).jpg")
    }
    let text = [UInt8](repeating: 0x61, count: 5000)
    try DurableFile.write(text.span, to: source + "/notes.txt")
    let output = directory.path("\(product).zip")
    var environment = Executables.environment
    environment["HOME"] = directory.path
    let outcome = try await Executables.run(
      Executables.path("pullbox"), ["pack", source, "-o", output, "--product", product, "--version", "1.0"],
      environment: environment, in: directory)
    guard outcome.succeeded else { throw PublishingDesk.Violation(description: outcome.errors) }
    return PackedFolder(
      product: product, bytes: try FileSystem.read(output, upTo: .mebibytes(64)),
      manifest: try FileSystem.read(output + ".manifest.json", upTo: .mebibytes(1)),
      signatures: try APIJSON.decode(
        [[String: String]].self, from: try FileSystem.read(output + ".signatures.json", upTo: .mebibytes(1))))
  }
}
