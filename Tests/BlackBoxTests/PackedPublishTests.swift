import Commerce
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("Packing on one machine and publishing on another", .timeLimit(.minutes(2)))
struct PackedPublishTests {
  private static let product = "com.example.packed"
  private static let content = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  /// A package made with another user's key; what was written under those endings is copied to the server's operator.
  private func package(
    _ endings: [String], for stack: Stack
  ) async throws -> (path: String, package: PackedFolder, made: TemporaryDirectory) {
    let machine = try TemporaryDirectory()
    let package = try await PackedFolder.make(Self.product, of: Self.content, in: machine)
    for ending in [""] + endings {
      let name = "\(Self.product).zip\(ending)"
      let bytes = try FileSystem.read(machine.path(name), upTo: .mebibytes(64))
      try DurableFile.write(bytes.span, to: stack.directory.path(name))
    }
    return (stack.directory.path("\(Self.product).zip"), package, machine)
  }

  private func manifest(at stack: Stack) async throws -> [UInt8] {
    try await stack.operatorWeb.get("/v1/operator/products/\(Self.product)/versions/1.0/manifest").body
  }

  private func keys(at stack: Stack) async throws -> [String] {
    let answer = try await stack.operatorWeb.get("/v1/operator/products/\(Self.product)")
    return try answer.decoded(OperatorProduct.self).product.publisherKeys?.map(\.description) ?? []
  }

  @Test("a package is sent with the manifest and the signatures beside it, and needs no other key")
  func beside() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let (path, package, _) = try await package([".manifest.json", ".signatures.json"], for: stack)
      let outcome = try await stack.pullbox("publish", path)
      #expect(outcome.succeeded, "\(outcome.errors)")
      #expect(try await manifest(at: stack) == package.manifest)
      #expect(try await keys(at: stack) == package.keys)
      // A repetition finds it there.
      #expect(
        try await stack.pullbox("publish", path, "--product", Self.product, "--version", "1.0").succeeded)
      let other = try await stack.pullbox("publish", path, "--version", "2.0")
      #expect(other.ending == .exited(2))
      #expect(other.errors.contains("this package is version 1.0"))
    }
  }

  @Test("the same bytes, published again, take the place of a package that the server has found damaged")
  func repaired() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let (path, package, _) = try await package([".manifest.json", ".signatures.json"], for: stack)
      #expect(try await stack.pullbox("publish", path).succeeded)
      let digest = try await stack.operatorWeb.get("/v1/operator/products/\(Self.product)/versions/1.0")
        .decoded(VersionRecord.self).digest.hexadecimal
      let stored = stack.directory.path("server/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))")
      var bytes = package.bytes
      bytes[100] ^= 1
      try DurableFile.write(bytes.span, to: stored)
      #expect(try await stack.pullbox("scrub", "--now").succeeded)
      try await eventually { try await stack.pullbox("scrub").output.contains("damaged \(digest)") }
      let outcome = try await stack.pullbox("publish", path)
      #expect(outcome.succeeded, "\(outcome.errors)")
      #expect(try FileSystem.read(stored, upTo: .mebibytes(64)) == package.bytes)
      try await eventually { try await !stack.pullbox("scrub").output.contains("damaged") }
    }
  }

  @Test("a manifest from elsewhere is named, and signed with this user's key where it was not signed before")
  func named() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let (path, package, machine) = try await package([], for: stack)
      let manifestPath = machine.path("\(Self.product).zip.manifest.json")
      let outcome = try await stack.pullbox("publish", path, "--manifest", manifestPath)
      #expect(outcome.succeeded, "\(outcome.errors)")
      #expect(try await manifest(at: stack) == package.manifest)
      let keys = try await keys(at: stack)
      #expect(keys.count == 1 && keys != package.keys)
      let missing = try await stack.pullbox("publish", path, "--manifest", path + ".nowhere")
      #expect(missing.ending == .exited(1))
      #expect(missing.errors.contains("there is no manifest at"))
    }
  }

  @Test("a file that is not its manifest's package, or whose signatures are not of it, is not sent")
  func spoiled() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let (path, package, _) = try await package([".manifest.json", ".signatures.json"], for: stack)
      var bytes = package.bytes
      bytes[100] ^= 1
      try DurableFile.write(bytes.span, to: path)
      let outcome = try await stack.pullbox("publish", path)
      #expect(outcome.ending == .exited(6))
      #expect(outcome.errors.contains("is not the package of its manifest"))
      let whole = package.bytes
      try DurableFile.write(whole.span, to: path)
      var signatures = package.signatures
      signatures[0]["value"] = signatures[0]["value"].map { String($0.reversed()) }
      let document = try APIJSON.encode(signatures)
      try DurableFile.write(document.span, to: path + ".signatures.json")
      #expect(try await stack.pullbox("publish", path).ending == .exited(6))
      #expect(try await stack.operatorWeb.get("/v1/operator/products/\(Self.product)").status == 404)
    }
  }
}
