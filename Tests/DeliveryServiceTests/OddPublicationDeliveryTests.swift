import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

/// Publications as people have them, each with one oddity: from the publisher's disk to a reader's.
@Suite("Odd publications, published, bought and placed")
struct OddPublicationDeliveryTests {
  private static func product(_ index: Int) -> String { "com.example.odd\(index)" }

  /// The package of a publication as `pullbox publish` sends it; nil for a folder that is not packed.
  private struct Parcel {
    var name: String
    var bytes: [UInt8]
    var manifest: Manifest?

    init?(_ odd: OddPublication, _ index: Int) throws {
      switch odd.source {
      case .file(let name, let bytes): (self.name, self.bytes) = (name, bytes)
      case .folder(let files):
        guard case .taken = odd.outcome else { return nil }
        let folder = try Folder()
        for file in files { try folder.write(file.content, to: file.path) }
        let builder = PackageBuilder(
          product: try #require(ProductIdentifier(OddPublicationDeliveryTests.product(index))),
          version: try #require(ContentVersion("1.0")))
        manifest = try builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
        (name, bytes) = ("issue.zip", try contents(of: folder.directory.path("package")))
      }
    }
  }

  @Test(
    "what is odd is delivered byte by byte and placed, with its title, type and cover; or refused with its entry"
  )
  func delivered() async throws {
    try await ServerHarness.run { server in
      for (index, odd) in OddPublication.all.enumerated() {
        guard let parcel = try Parcel(odd, index), !parcel.bytes.isEmpty else { continue }
        switch odd.outcome {
        case .refused(let faults):
          let problem = try await server.problem { try await publish(parcel, index, server) }
          #expect(problem.code == .packageRejected, "\(odd)")
          #expect((problem.faults ?? []).map { "\($0.code) \($0.path ?? "-")" } == faults, "\(odd)")
        case .needsWord(_, let type):
          try await publish(parcel, index, server)
          try await check(parcel, index, type: type, title: nil, server)
        case .taken(let expected):
          try await publish(parcel, index, server)
          try await check(parcel, index, type: expected.type, title: expected.title, server)
          if case .folder(let files) = odd.source, let cover = expected.cover {
            try await checkCover(try #require(files.first { $0.path == cover }).content, index, server)
          }
        }
      }
    }
  }

  private func publish(_ parcel: Parcel, _ index: Int, _ server: ServerHarness) async throws {
    let product = Self.product(index)
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(product)", body: ProductDescription(), as: OperatorProduct.self)
    let submission = VersionSubmission(
      upload: try await server.upload(parcel.bytes, name: parcel.name),
      version: try #require(ContentVersion("1.0")),
      manifest: parcel.manifest.map { Base64.encode($0.canonicalBytes()) })
    let path = "/v1/operator/products/\(product)/versions"
    _ = try await server.operatorAPI.call("POST", path, body: submission, as: VersionRecord.self)
    for step in ["submit", "approve", "release"] {
      _ = try await server.operatorAPI.call(
        "POST", "\(path)/1.0/\(step)", body: ReasonBody(), as: VersionRecord.self)
    }
  }

  /// Buys it, fetches it, and places it as a device does.
  private func check(
    _ parcel: Parcel, _ index: Int, type: String, title: String?, _ server: ServerHarness
  ) async throws {
    let product = Self.product(index)
    let purchase = server.purchase(of: product, id: "20000000\(1000 + index)")
    let receipt = try server.store.receipt(of: [purchase], device: server.device.id)
    let grant = try await server.grant(product, receipt: receipt).value
    let content = try await server.fetch(grant)
    #expect(content.body == parcel.bytes, "\(parcel.name)")
    #expect(content.headers["Content-Type"] == type, "\(parcel.name)")
    let answer = try await server.operatorAPI.exchange(
      "GET", "/v1/operator/products/\(product)/versions/1.0/manifest")
    let manifest = try UnverifiedManifest(answer.body).proposed()
    #expect(manifest.title == title, "\(parcel.name)")

    let directory = try TemporaryDirectory()
    var area = try StagingArea.open(at: directory.path("staging"), manifest: manifest)
    for index in 0..<manifest.layout.count {
      var piece = ReceivedPiece(index: index, layout: manifest.layout)
      let range = manifest.layout.range(of: index)
      let bytes = Array(content.body[Int(range.lowerBound)..<Int(range.upperBound)])
      #expect(piece.append(bytes.span) == bytes.count)
      try area.write(try VerifiedPiece(piece, of: manifest))
    }
    try area.finish().place(at: directory.path("placed"))
    for file in manifest.files {
      #expect(SHA256Digest.of(try contents(of: "\(directory.path("placed"))/\(file.path)")) == file.digest)
    }
  }

  private func checkCover(_ cover: [UInt8], _ index: Int, _ server: ServerHarness) async throws {
    let answer = try await server.client.send(
      ClientRequest(method: "GET", url: server.api.url("/v1/products/\(Self.product(index))/cover")))
    #expect(answer.status == 200 && answer.body == cover, "\(Self.product(index))")
  }
}
