import Commerce
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("What is read without a key", .serialized, .timeLimit(.minutes(5)))
struct PublicCatalogTests {
  private static let issue = "com.example.isobar.2026-09"

  private func curl(_ url: String, _ options: String..., at stack: Stack) async throws -> Executables.Outcome
  {
    try await Executables.run(
      "/usr/bin/curl",
      ["-s", "-o", stack.directory.path("answer"), "-w", "%{http_code} %{content_type}"] + options + [url],
      in: stack.directory)
  }

  private func body(at stack: Stack) throws -> [UInt8] {
    try FileSystem.read(stack.directory.path("answer"), upTo: .mebibytes(4))
  }

  @Test("curl reads products, publications, covers and samples, and no other byte of a package")
  func curl() async throws {
    try await Stack.with { stack in
      let published = try await stack.pullbox(
        "publish", Executables.root + "/content/isobar-2026-09", "--release")
      #expect(published.succeeded, "\(published.errors)")
      let subscription = try await stack.pullbox("publish", Executables.root + "/content/isobar")
      #expect(subscription.succeeded, "\(subscription.errors)")
      let server = stack.server.base
      for (path, type) in [
        ("/v1/products?id=\(Self.issue)&territory=USA", "application/json"),
        ("/v1/publications", "application/json"), ("/v1/publications/com.example.isobar", "application/json"),
        ("/products_v1.json", "application/json"), ("/products_v2.json", "application/json"),
        ("/v1/products/\(Self.issue)/cover", "image/"),
      ] {
        let answer = try await curl(server + path, "-L", at: stack)
        #expect(answer.output.hasPrefix("200 \(type)"), "\(path): \(answer.output)")
        #expect(try !body(at: stack).isEmpty)
      }
      // A cover is an image of its own, far shorter than what is sold.
      let cover = try body(at: stack)
      let version = try await stack.operatorWeb.get("/v1/operator/products/\(Self.issue)/versions/1.0")
        .decoded(VersionRecord.self)
      #expect(cover.count <= 262_144 && cover.count < version.length.rawValue / 4)

      let digest = version.digest.hexadecimal
      for path in [
        "/v1/content/\(digest)", "/v1/content/\(digest).meta4", "/v1/content/\(digest)/manifest",
        "/v1/products/\(Self.issue)/samples/99", "/v1/products/\(Self.issue)/samples/1/../../cover.jpg",
        "/v1/products/\(Self.issue)/page-001.jpg", "/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))",
        "/v1/operator/products", "/v1/feed?device=x&wait=0", "/v1/grants",
      ] {
        let answer = try await curl(server + path, "--path-as-is", at: stack)
        let status = try #require(answer.output.split(separator: " ").first.flatMap { Int($0) })
        #expect((400..<500).contains(status), "\(path): \(answer.output)")
        #expect(try body(at: stack).count < 2000)
      }
    }
  }
}
