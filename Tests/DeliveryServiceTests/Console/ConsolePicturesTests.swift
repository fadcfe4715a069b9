import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("Pages of versions as pictures, for operators", .timeLimit(.minutes(2)))
struct ConsolePicturesTests {
  private static let issue = "com.example.issue1"
  private static let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static func picture(_ number: Int) -> [UInt8] {
    start + (0..<4000).map { UInt8(truncatingIfNeeded: $0 &* (number &+ 5) / 3) }
  }

  /// A draft of a folder with these pages.
  private func submit(
    _ pages: [(String, [UInt8])], as version: String, to server: ServerHarness
  ) async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path("issue")
    try FileSystem.createDirectories(folder)
    for (name, bytes) in pages { try DurableFile.write(bytes.span, to: "\(folder)/\(name)") }
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(Self.issue)), version: try #require(ContentVersion(version)))
    let packed = try builder.pack(folder: folder, to: directory.path("issue.zip"))
    let bytes = try FileSystem.read(directory.path("issue.zip"), upTo: .mebibytes(1))
    let submission = VersionSubmission(
      upload: try await server.upload(bytes, name: "issue.zip"),
      version: try #require(ContentVersion(version)),
      manifest: Base64.encode(packed.manifest.canonicalBytes()))
    _ = try await server.operatorAPI.call(
      "POST", "/v1/operator/products/\(Self.issue)/versions", body: submission, as: VersionRecord.self)
  }

  private func run(_ body: (ServerHarness) async throws -> Void) async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: ProductDescription(), as: OperatorProduct.self)
      try await submit(
        [("page-1.png", Self.picture(1)), ("page-2.png", Self.picture(2)), ("page-3.png", Self.picture(3))],
        as: "1.0", to: server)
      try await submit(
        [("page-1.png", Self.picture(1)), ("page-2.png", Self.picture(9)), ("page-4.png", Self.picture(4))],
        as: "2.0", to: server)
      try await body(server)
    }
  }

  @Test(
    "pages of a draft are listed in their order, and each is its file's bytes under the type of its first ones"
  )
  func pages() async throws {
    try await run { server in
      let path = server.path(Self.issue, "1.0") + "/pages"
      let list: VersionPages = try await server.operatorAPI.get(path)
      #expect(list.pages.map(\.path) == ["page-1.png", "page-2.png", "page-3.png"])
      #expect(list.pages.map(\.number) == [1, 2, 3])
      let page = try await server.operatorAPI.exchange("GET", "\(path)/2")
      #expect(page.headers["Content-Type"] == "image/png")
      #expect(page.headers["ETag"] == "\"\(try #require(list.pages[1].digest))\"")
      #expect(page.body == Self.picture(2))
      for number in ["0", "4", "-1", "9223372036854775808", "a"] {
        let problem = try await server.problem {
          _ = try await server.operatorAPI.exchange("GET", "\(path)/\(number)")
        }
        #expect(problem.code == .previewUnknown, "\(number)")
      }
      let closed = try await server.problem { _ = try await server.api.exchange("GET", "\(path)/1") }
      #expect(closed.code == .unauthorized)
    }
  }

  @Test("a comic book that is one archive shows its pages, in their natural order, compressed or not")
  func archive() async throws {
    try await run { server in
      func archive(_ last: Int) -> [UInt8] {
        ZipMaker([
          ZipMaker.Entry("p10.png", Self.picture(last)).with { $0.method = 8 },
          ZipMaker.Entry("p2.png", Self.picture(2)), ZipMaker.Entry("p1.png", Self.picture(1)),
          ZipMaker.Entry("p3.png", "no picture at all"), ZipMaker.Entry("notes.txt", "x"),
        ]).bytes
      }
      for (version, last) in [("3.0", 10), ("4.0", 11)] {
        _ = try await server.submit(archive(last), as: Self.issue, version: version)
      }
      let path = server.path(Self.issue, "3.0") + "/pages"
      let list: VersionPages = try await server.operatorAPI.get(path)
      #expect(list.pages.map(\.path) == ["p1.png", "p2.png", "p10.png"])
      #expect(list.pages.allSatisfy { $0.digest == nil && $0.checksum?.count == 8 })
      for (number, picture) in [(1, 1), (2, 2), (3, 10)] {
        let page = try await server.operatorAPI.exchange("GET", "\(path)/\(number)")
        #expect(
          page.headers["Content-Type"] == "image/png" && page.body == Self.picture(picture), "\(number)")
      }
      let none = try await server.problem { _ = try await server.operatorAPI.exchange("GET", "\(path)/4") }
      #expect(none.code == .previewUnknown)
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let compared = try await browser.get("/console/products/\(Self.issue)/4.0/pages?compare=3.0")
      #expect(compared.text.contains("Pages that are the same: 2; changed: 1; added: 0; removed: 0."))
    }
  }

  @Test("samples are edited as paths, and shown as pictures once a version is released")
  func samples() async throws {
    try await run { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let edit = "/console/products/\(Self.issue)/edit"
      let form = try await browser.get(edit)
      #expect(form.text.contains("name=\"samples\""))
      let typed = try ["token", "tag"].map { name in
        (name, try #require(browser.hidden(name, of: form.text)).replacing("&quot;", with: "\""))
      }
      let answer = try await browser.post(
        edit, typed + [("samples", "page-1.png\r\npage-3.png"), ("confirmed", "yes")])
      #expect(answer.location == "/console/products/\(Self.issue)?notice=edited")
      let record: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/\(Self.issue)")
      #expect(record.product.samples == ["page-1.png", "page-3.png"])
      let page = try await browser.get("/console/products/\(Self.issue)")
      #expect(page.text.contains("page-3.png") && !page.text.contains("/samples/1"))
    }
  }

  @Test(
    "two versions stand side by side with what changed, and their pictures are shown to who is signed in alone"
  )
  func comparison() async throws {
    try await run { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let alone = try await browser.get("/console/products/\(Self.issue)/2.0/pages")
      #expect(alone.status == 200 && alone.text.contains("Pages: 3."))
      let path = "/console/products/\(Self.issue)/2.0/pages?compare=1.0"
      let page = try await browser.get(path)
      #expect(page.text.contains("Pages that are the same: 1; changed: 1; added: 1; removed: 1."))
      #expect(!page.text.contains("/console/pictures/\(Self.issue)/2.0/pages/1\""))
      for picture in ["1.0/pages/2", "2.0/pages/2", "2.0/pages/3", "1.0/pages/3"] {
        #expect(page.text.contains("/console/pictures/\(Self.issue)/\(picture)\""), "\(picture)")
      }
      #expect(try await browser.get("\(path)&show=all").text.contains("/2.0/pages/1\""))
      let shown = try await browser.get("/console/pictures/\(Self.issue)/1.0/pages/2")
      #expect(shown.status == 200 && shown.headers["Content-Type"] == "image/png")
      #expect(shown.headers["Content-Security-Policy"] == "default-src 'none'; sandbox")
      #expect(
        try await ConsoleBrowser(server).get("/console/pictures/\(Self.issue)/1.0/pages/2").status == 303)
      #expect(try await browser.get("/console/products/\(Self.issue)/2.0/pages?from=-1").status == 400)
      #expect(try await browser.get("/console/products/\(Self.issue)/2.0/pages?compare=9").status == 200)
    }
  }
}
