import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

/// A transaction ends when what is required is here: sections that are fetched later count for nothing then.
@Suite("Delivery of content in sections")
struct SectionDeliveryTests {
  private func pages(_ seed: Int, count: Int) -> [UInt8] { noise(count, seed: UInt64(seed)) }

  /// A package of 2 MiB that are required and 3 MiB that are not.
  private func package() throws -> (bytes: [UInt8], manifest: Manifest) {
    let folder = try Folder()
    try folder.write(pages(1, count: 2 << 20), to: "001.jpg")
    try folder.write(pages(2, count: 3 << 20), to: "hires/001.jpg")
    let rules = try SectionRules([
      SectionRules.Rule(
        section: ManifestSection(tag: try #require(SectionTag("hires")), policy: .onDemand),
        patterns: [try #require(PathPattern("hires/"))])
    ])
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier("com.example.issue1")),
      version: try #require(ContentVersion("1.0")))
    let output = folder.directory.path("package")
    let manifest = try builder.pack(folder: folder.path, to: output, sections: rules).manifest
    return (try contents(of: output), manifest)
  }

  private func fetch(_ piece: Int, of grant: GrantResponse, _ server: ServerHarness) async throws {
    let range = "bytes=\(piece << 20)-\(((piece + 1) << 20) - 1)"
    #expect(try await server.fetch(grant, headers: [("Range", range)]).status == 206)
  }

  @Test("completes with the pieces of what is required, and not with one less")
  func required() async throws {
    let (bytes, manifest) = try package()
    try await ServerHarness.run { server in
      try await server.publish(bytes, manifest: manifest)
      let grant = try await server.grantForPurchase()
      let map = PieceMap(manifest.selecting([]))
      let needed = (0..<manifest.layout.count).filter(map.isNeeded)
      #expect(needed == [0, 1, 2])
      for piece in needed.dropLast() { try await fetch(piece, of: grant, server) }
      let problem = try await server.problem { _ = try await server.complete(grant) }
      #expect(problem.missingStep == "delivery")
      try await fetch(2, of: grant, server)
      #expect(try await server.complete(grant).value.state == .finished)
      // The rest comes by the same grant.
      try await fetch(3, of: grant, server)
    }
  }
}
