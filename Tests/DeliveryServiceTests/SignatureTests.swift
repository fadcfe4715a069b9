import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("Signatures of what is published")
struct SignatureTests {
  private let product = "com.example.issue1"
  private let bytes = Array("one page".utf8)

  private func key(_ byte: UInt8) throws -> SigningKey {
    try #require(SigningKey(seed: [UInt8](repeating: byte, count: 32)))
  }

  private func id(_ key: SigningKey) -> PublisherKeyIdentifier { key.verificationKey.publisherKeyIdentifier }

  private func put(_ server: ServerHarness, _ keys: [PublisherKeyIdentifier]?) async throws -> OperatorProduct
  {
    try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(product)", body: ProductDescription(publisherKeys: keys),
      as: OperatorProduct.self
    ).value
  }

  private func manifest() throws -> Manifest {
    let directory = try TemporaryDirectory()
    let path = directory.path("issue.bin")
    try DurableFile.write(bytes.span, to: path)
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion("1.0")))
    return try builder.describe(file: path).manifest
  }

  private func submit(
    _ server: ServerHarness, signedBy keys: [SigningKey]?,
    spoil: (inout PublisherSignature) -> Void = { _ in }
  ) async throws -> VersionRecord {
    let manifest = try manifest().canonicalBytes()
    let signatures = keys?.map { key in
      var signature = PublisherSignature(signing: manifest, with: key)
      spoil(&signature)
      return signature
    }
    let submission = VersionSubmission(
      upload: try await server.upload(bytes, name: "issue.bin"),
      version: try #require(ContentVersion("1.0")), manifest: Base64.encode(manifest), signatures: signatures)
    return try await server.operatorAPI.call(
      "POST", "/v1/operator/products/\(product)/versions", body: submission, as: VersionRecord.self
    ).value
  }

  @Test("a key that may publish names no publisher keys of a product that is there, nor takes any away")
  func keysOfAdministrators() async throws {
    let credential = "evas-own-key-of-32-characters-000"
    let eva = "{name: 'eva', key: '\(credential)', scopes: ['publish']}"
    try await ServerHarness.run(options: ["--named-operator-key", eva]) { server in
      let publisher = APIClient(
        baseURL: server.api.baseURL, credential: credential, client: server.client)
      func put(_ keys: [PublisherKeyIdentifier]?, _ title: String) async throws -> [PublisherKeyIdentifier]? {
        try await publisher.call(
          "PUT", "/v1/operator/products/\(product)",
          body: ProductDescription(
            localizations: ["en-US": .init(title: title, description: "")], publisherKeys: keys),
          as: OperatorProduct.self
        ).value.product.publisherKeys
      }
      let (own, other) = (id(try key(1)), id(try key(2)))
      _ = try await self.put(server, [own])
      for keys in [[other], [own, other], []] {
        let problem = try await server.problem { _ = try await put(keys, "A") }
        #expect(problem.code == .forbidden)
        let item = ProductDescription(id: ProductIdentifier(product), publisherKeys: keys)
        let imported = try await server.problem {
          _ = try await publisher.call(
            "POST", "/v1/operator/catalog", body: CatalogImport(products: [item]),
            as: CatalogImportReport.self)
        }
        #expect(imported.code == .catalogInvalid)
      }
      // A description that does not change them is the publisher's to write.
      #expect(try await put(nil, "B") == [own])
      #expect(try await put([own], "C") == [own])
      #expect(try await self.put(server, [other]).product.publisherKeys == [other])
    }
  }

  @Test("a grant carries the signature and the keys that the product names")
  func granted() async throws {
    try await ServerHarness.run { server in
      let key = try key(1)
      _ = try await put(server, [id(key)])
      _ = try await submit(server, signedBy: [key])
      for step in ["submit", "approve", "release"] {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/products/\(product)/versions/1.0/\(step)", body: ReasonBody(),
          as: VersionRecord.self)
      }
      let terms = try await server.grantForPurchase().download
      #expect(terms.publisherKeys == [id(key)])
      let signatures = try #require(terms.signatures)
      #expect(signatures.map(\.keyId) == [id(key)])
      #expect(
        signatures.allSatisfy { (try? manifest()).map { $0.canonicalBytes() }.map($0.isValid) ?? false })
      // A key that the product no longer names opens nothing.
      _ = try await put(server, [id(try self.key(2))])
      let later = try await server.grantForPurchase().download
      let named = [id(try self.key(2))]
      #expect(later.signatures == nil && later.publisherKeys == named)
    }
  }

  @Test("a version whose signature is missing, foreign or wrong is refused: 422, with every fault")
  func refused() async throws {
    try await ServerHarness.run { server in
      let key = try key(1)
      _ = try await put(server, [id(key)])
      func codes(_ body: () async throws -> VersionRecord) async throws -> [String] {
        let problem = try await server.problem { _ = try await body() }
        #expect(problem.code == .packageRejected)
        return problem.faults?.map(\.code) ?? []
      }
      #expect(try await codes { try await submit(server, signedBy: nil) } == ["signature-missing"])
      #expect(
        try await codes { try await submit(server, signedBy: [try self.key(2)]) } == ["signature-key-unknown"]
      )
      #expect(
        try await codes { try await submit(server, signedBy: [key]) { $0.value = "AAAA" } } == [
          "signature-invalid"
        ])
      #expect(
        try await codes { try await server.submit(bytes, as: product, version: "1.0") } == [
          "signature-missing"
        ])
      _ = try await submit(server, signedBy: [key])
    }
  }

  @Test("keys stay when a description leaves them out; changing them takes admin and is in the audit log")
  func keys() async throws {
    try await ServerHarness.run { server in
      let key = try key(1)
      #expect(try await put(server, [id(key)]).product.publisherKeys == [id(key)])
      #expect(try await put(server, nil).product.publisherKeys == [id(key)])
      #expect(try await put(server, []).product.publisherKeys == nil)
      let page = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      #expect(
        page.items.filter { $0.action == "product.keys" }.map(\.detail) == [
          "removed \(id(key))", "added \(id(key))",
        ])
      let twice = try await server.problem { _ = try await put(server, [id(key), id(key)]) }
      #expect(twice.faults?.map(\.code) == ["publisher-key"])
    }
  }
}
