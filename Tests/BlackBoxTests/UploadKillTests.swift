import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// Serialized: each test moves tens of megabytes.
@Suite("SIGKILL in the middle of a publication", .serialized, .timeLimit(.minutes(10)))
struct UploadKillTests {
  private static let product = "com.example.uploaded"
  private static let length: Int64 = 64 << 20

  /// The one upload there is, once more than a mebibyte of it has arrived.
  private func running(_ stack: Stack) async throws -> UploadRecord {
    while true {
      let uploads = try await stack.operatorWeb.get("/v1/operator/uploads").decoded(Page<UploadRecord>.self)
      if let upload = uploads.items.first, upload.offset > .mebibytes(1) { return upload }
    }
  }

  private func checkPublished(_ stack: Stack, _ upload: UploadRecord) async throws {
    let versions = try await stack.operatorWeb.get("/v1/operator/products/\(Self.product)/versions")
      .decoded(Page<VersionRecord>.self)
    #expect(versions.items.map(\.state) == [.released])
    #expect(versions.items.map(\.length) == [ByteCount(Self.length)])
    // A client that had begun anew would have left a second one.
    let uploads = try await stack.operatorWeb.get("/v1/operator/uploads").decoded(Page<UploadRecord>.self)
    #expect(uploads.items.map(\.upload) == [upload.upload])
  }

  @Test("when the server dies, the command goes on with the next one from the last byte that was written")
  func server() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let file = try await Material.file("file.cbz", length: Self.length, in: stack.directory)
      async let outcome = stack.pullbox(
        "publish", file, "--product", Self.product, "--version", "1.0", "--release")
      let upload = try await running(stack)
      await stack.kill(.server)
      try await stack.start(.server)
      let uploads = try await stack.operatorWeb.get("/v1/operator/uploads").decoded(Page<UploadRecord>.self)
      #expect(try #require(uploads.items.first).offset >= upload.offset)
      let end = try await outcome
      #expect(end.succeeded, "\(end.output) \(end.errors)")
      try await checkPublished(stack, upload)
    }
  }

  @Test("when the command dies, the same command again goes on where the first one stood")
  func client() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let file = try await Material.file("file.cbz", length: Self.length, in: stack.directory)
      let first = try stack.startPullbox(
        "publish", file, "--product", Self.product, "--version", "1.0", "--release")
      let upload = try await running(stack)
      await first.killAndWait()
      let end = try await stack.pullbox(
        "publish", file, "--product", Self.product, "--version", "1.0", "--release")
      #expect(end.succeeded, "\(end.output) \(end.errors)")
      try await checkPublished(stack, upload)
    }
  }
}
