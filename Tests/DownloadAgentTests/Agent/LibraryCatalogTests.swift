import AgentRecords
import AgentTesting
import CatalogDocuments
import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import Foundation
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent
@testable import LibraryCatalog

/// The library as programs of the device read it: OPDS 1.2 and 2.0, Readium's manifests, pages and files.
@Suite("The catalog that an agent serves", .serialized, .timeLimit(.minutes(5)))
struct LibraryCatalogTests {
  private static let other = "com.example.heroes.issue43"
  private static let pages = (1...3).map { number in
    (path: "page \(number).jpg", bytes: jpeg(number, length: 5000 + number))
  }

  private static func comic() throws -> FixturePackage {
    var files = Dictionary(uniqueKeysWithValues: pages.map { ($0.path, $0.bytes) })
    files["page 1@240w.jpg"] = jpeg(9, length: 900)
    files["notes/liner.txt"] = Array("All in color for a dime.".utf8)
    return try FixturePackage.folder(of: files)
  }

  /// A program of the device that knows the key.
  private struct Program: Sendable {
    let client: HTTPClient
    let key: NewReaderKey

    init(_ harness: AgentHarness) async throws {
      client = harness.client
      let answer = try await harness.ask("POST", "/v1/readers/local")
      #expect(answer.status == 200)
      key = try APIJSON.decode(NewReaderKey.self, from: answer.body)
    }

    /// `path` is below the key's address, or an address that a feed has.
    func get(
      _ path: String, _ headers: [(String, String)] = [], password: String? = nil
    ) async throws -> ClientResponse {
      var request = ClientRequest(
        method: "GET", url: path.hasPrefix("http") ? path : key.address + path)
      let shown = Base64.encode(Array("\(key.name):\(password ?? key.password)".utf8))
      request.headers = [("Authorization", "Basic \(shown)")] + headers
      return try await client.send(request)
    }
  }

  private static func text(_ response: ClientResponse) -> String {
    String(decoding: response.body, as: UTF8.self)
  }

  private static let listening: @Sendable (inout AgentConfiguration) -> Void = {
    $0.catalogListen = "127.0.0.1:0"
  }

  /// Places the packages in their order, and gives `body` the agent with no server to ask. The server has told of the `disowned` that they
  /// are the account's no more.
  private func reading(
    _ packages: [FixturePackage], _ harness: AgentHarness, disowned: [ProductIdentifier] = [],
    _ body: @escaping @Sendable (Program) async throws -> Void
  ) async throws {
    let server = FakeServer(packages)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        for (index, package) in packages.enumerated() {
          let transaction = "200000000000000\(index + 1)"
          try server.queuePurchase("\(package.manifest.product)", transaction: transaction)
          try await agent.finished([transaction])
        }
        for product in disowned {
          try await agent.downloads.database.save([
            product: KnownOwnership(
              isOwned: false, because: "revoked", until: nil, asOf: .init(millisecondsSinceEpoch: 0))
          ])
        }
      }
    }
    try await harness.run(server: "http://127.0.0.1:9", configure: Self.listening) { _ in
      try await body(try await Program(harness))
    }
  }

  @Test(
    "only this device's own addresses are taken, and another is refused by its name",
    arguments: [
      ("127.0.0.1:8094", true), ("127.8.9.10:80", true), ("[::1]:8094", true), ("localhost:0", true),
      ("unix:/run/pullbox/catalog.sock", true), ("0.0.0.0:8094", false), ("[::]:8094", false),
      ("192.0.2.7:8094", false), ("127.0.0.1.example.com:80", false), ("example.com:80", false),
      ("127.0.0.1", false), (":8094", false), ("unix:", false), ("127.0.0.1:99999", false),
    ])
  func addresses(text: String, isTaken: Bool) throws {
    var configuration = AgentConfiguration(
      server: "http://127.0.0.1:9", store: "http://127.0.0.1:9", state: "/tmp/none")
    configuration.catalogListen = text
    guard !isTaken else {
      try configuration.check()
      return
    }
    let error = try #require(throws: ConfigurationError.self) { try configuration.check() }
    #expect(error.faults.map(\.subject) == ["catalogListen"])
    #expect(error.description.contains(text))
  }

  @Test("without an address nothing is served, no key is made, and none is shown")
  func off() async throws {
    let harness = try AgentHarness()
    try await harness.run(server: "http://127.0.0.1:9") { agent in
      let answer = try await harness.ask("POST", "/v1/readers/local")
      #expect(answer.status == 409 && agent.catalogAddress == nil)
    }
    #expect(try FileSystem.status(of: harness.directory.path("state/catalog-key")) == nil)
  }

  @Test("the key is made once, for the agent's user alone, and no line of the log has its words")
  func key() async throws {
    let harness = try AgentHarness()
    let lines = Locked("")
    let log = Log(level: .debug, format: .json) { line in
      let text = String(decoding: line, as: UTF8.self)
      lines.withLock { $0 += text }
    }
    let keys = Locked<[NewReaderKey]>([])
    for _ in 0..<2 {
      try await harness.run(server: "http://127.0.0.1:9", log: log, configure: Self.listening) { _ in
        let program = try await Program(harness)
        #expect(try await program.get("").status == 200)
        let key = program.key
        keys.withLock { $0.append(key) }
      }
    }
    let found = keys.current
    #expect(found[0].name == found[1].name && found[0].password == found[1].password)
    #expect(found[0].password.split(separator: "-").count == 4)
    let status = try #require(try FileSystem.status(of: harness.directory.path("state/catalog-key")))
    #expect(status.permissions & 0o777 == 0o600)
    #expect(!lines.current.contains(found[0].password))
    // One that others may read is no secret.
    #expect(unsafe chmod(harness.directory.path("state/catalog-key"), 0o644) == 0)
    await #expect(throws: ConfigurationError.self) {
      try await harness.run(server: "http://127.0.0.1:9", configure: Self.listening) { _ in }
    }
  }

  @Test("every route wants the key, in any case and with spaces, and tells a program how it is shown")
  func signIn() async throws {
    let harness = try AgentHarness()
    try await reading([try Self.comic()], harness) { program in
      let paths = [
        "", "/v1.2", "/v2/owned", "/v2/search?q=a", "/cover.png",
        "/pages/\(FixturePackage.product)/1.0/0", "/files/\(FixturePackage.product)/1.0/x",
      ]
      for path in paths {
        let answer = try await program.client.send(
          ClientRequest(method: "GET", url: program.key.address + path))
        #expect(answer.status == 401, "\(path)")
        #expect(answer.headers["Content-Type"] == "application/opds-authentication+json")
        #expect(Self.text(answer).contains("http://opds-spec.org/auth/basic"))
      }
      let open = try await program.client.send(
        ClientRequest(method: "GET", url: program.key.address + "/authentication"))
      #expect(open.status == 200)
      let spoken = program.key.password.uppercased().replacing("-", with: " ")
      #expect(try await program.get("", password: spoken).status == 200)
      var bearer = ClientRequest(method: "GET", url: program.key.address)
      bearer.headers = [("Authorization", "Bearer \(program.key.name).\(program.key.password)")]
      #expect(try await program.client.send(bearer).status == 200)
    }
  }

  @Test("a wrong key opens nothing and is bounded, and keeps the right one from nothing") func wrongKeys()
    async throws
  {
    let harness = try AgentHarness()
    try await harness.run(server: "http://127.0.0.1:9", configure: Self.listening) { _ in
      let program = try await Program(harness)
      var statuses: [Int] = []
      for _ in 0..<40 where statuses.last != 429 {
        statuses.append(Int(try await program.get("/v1.2", password: "kabiz-motur-felan-sipod").status))
      }
      #expect(statuses.dropLast().allSatisfy { $0 == 401 } && statuses.last == 429)
      var stranger = ClientRequest(method: "GET", url: program.key.address)
      stranger.headers = [("Authorization", "Bearer x.\(program.key.password)")]
      let refused = try await program.client.send(stranger).status
      #expect(refused == 401 || refused == 429)
      #expect(try await program.get("/v1.2").status == 200, "the right key always counts")
    }
  }

  @Test("what the account owns no more is neither shown nor sent") func disowned() async throws {
    let harness = try AgentHarness()
    let comic = try Self.comic()
    try await reading([comic], harness, disowned: [comic.manifest.product]) { program in
      for feed in ["/v1.2/owned", "/v2/owned"] {
        let shown = Self.text(try await program.get(feed))
        #expect(!shown.contains(FixturePackage.product), "\(feed)")
      }
      let name = PackageFacts.fileName(of: comic.manifest.product, PackageFacts(comic.manifest))
      for path in ["pages/P/1.0/0", "covers/P/1.0", "manifest/P/1.0", "files/P/1.0/\(name)"] {
        let address = "/" + path.replacing("P/", with: "\(FixturePackage.product)/")
        let answer = try await program.get(address)
        #expect(answer.status == 404, "\(path)")
      }
    }
  }

  @Test("wrong passwords are bounded: behind ten, none is compared until a second has passed")
  func attempts() {
    let clock = ManualMonotonicClock()
    let wrong = WrongPasswords(timer: clock)
    for _ in 0..<10 {
      #expect(wrong.wait == nil)
      wrong.charge()
    }
    #expect(wrong.wait == 1)
    clock.advance(by: .seconds(1))
    #expect(wrong.wait == nil)
    wrong.charge()
    #expect(wrong.wait == 1)
  }

  @Test("without a server, both forms show what is placed, what came last first, and find it by its title")
  func feeds() async throws {
    let harness = try AgentHarness()
    let packages = [
      try Self.comic(), try FixturePackage.file(length: 40_000, product: Self.other),
    ]
    try await reading(packages, harness) { program in
      let atom = try await program.get("/v1.2/owned")
      #expect(atom.status == 200)
      #expect(
        atom.headers["Content-Type"] == "application/atom+xml;profile=opds-catalog;kind=acquisition")
      let text = Self.text(atom)
      let places = try [Self.other, FixturePackage.product].map { product in
        try #require(text.range(of: "<dcterms:identifier>\(product)</dcterms:identifier>")).lowerBound
      }
      #expect(places[0] < places[1])
      #expect(text.contains(#"pse:count="3""#))
      let json = try await program.get("/v2/owned")
      #expect(json.headers["Content-Type"] == "application/opds+json")
      let found = try #require(
        try JSONSerialization.jsonObject(with: Data(json.body)) as? [String: Any])
      let publications = try #require(found["publications"] as? [[String: Any]])
      let identifiers = publications.compactMap {
        ($0["metadata"] as? [String: Any])?["identifier"] as? String
      }
      #expect(
        identifiers == [Self.other, FixturePackage.product].map { "urn:pullbox:product:\($0)" })
      #expect(Self.text(try await program.get("/v2/search?q=issue43")).contains(Self.other))
      #expect(!Self.text(try await program.get("/v2/search?q=issue43")).contains("issue42"))
      let entry = try await program.get("/v1.2/products/\(FixturePackage.product)")
      #expect(entry.status == 200 && Self.text(entry).contains("<entry"))
      let tag = try #require(atom.headers["ETag"])
      #expect(try await program.get("/v1.2/owned", [("If-None-Match", tag)]).status == 304)
      let unknown = [
        "/v2/products/com.example.none": 404, "/v2/owned?after=com.example.none": 400,
        "/v2/owned?page=2": 400, "/v2/new": 404,
      ]
      for (path, status) in unknown { #expect(try await program.get(path).status == status, "\(path)") }
    }
  }

  @Test("a comic is read page by page: its manifest, its pages, narrower ones, its cover, ranges of each")
  func pages() async throws {
    let harness = try AgentHarness()
    try await reading([try Self.comic()], harness) { program in
      let product = FixturePackage.product
      let manifest = try await program.get("/manifest/\(product)/1.0")
      #expect(manifest.headers["Content-Type"] == "application/divina+json")
      let document = try #require(
        try JSONSerialization.jsonObject(with: Data(manifest.body)) as? [String: Any])
      let order = try #require(document["readingOrder"] as? [[String: Any]])
      #expect(order.count == 3)
      for (number, link) in order.enumerated() {
        let page = try await program.get(try #require(link["href"] as? String))
        #expect(page.status == 200 && page.body == Self.pages[number].bytes)
        #expect(page.headers["Content-Type"] == "image/jpeg")
        #expect(page.headers["ETag"] == "\"\(SHA256Digest.of(Self.pages[number].bytes))\"")
      }
      #expect(
        try await program.get("/pages/\(product)/1.0/0?width=200").body == jpeg(9, length: 900))
      #expect(try await program.get("/covers/\(product)/1.0").body == Self.pages[0].bytes)
      let part = try await program.get("/pages/\(product)/1.0/1", [("Range", "bytes=100-199")])
      #expect(part.status == 206 && part.body == Array(Self.pages[1].bytes[100..<200]))
      #expect(part.headers["Content-Range"] == "bytes 100-199/\(Self.pages[1].bytes.count)")
      #expect(try await program.get("/pages/\(product)/1.0/1", [("Range", "bytes=99999-")]).status == 416)
      for number in ["3", "-1", "9223372036854775808", "01", "x"] {
        #expect(try await program.get("/pages/\(product)/1.0/\(number)").status == 404, "\(number)")
      }
      #expect(try await program.get("/pages/\(product)/1.0/0?width=0").status == 400)
      #expect(try await program.get("/pages/\(product)/2.0/0").status == 404)
    }
  }

  @Test(
    "a comic that was published as one archive is read page by page, whether its pages are stored or deflated"
  )
  func archive() async throws {
    let harness = try AgentHarness()
    let entries = Self.pages.enumerated().map { number, page in
      ZipMaker.Entry(page.path, page.bytes).with { $0.method = number == 1 ? 8 : 0 }
    }
    // Called like a page, and none by its bytes: it counts for nothing.
    let odd = ZipMaker.Entry("page 0.jpg", "no picture")
    let bytes = ZipMaker(entries.reversed() + [odd]).bytes
    try await reading([try FixturePackage.file(bytes, name: "issue.cbz")], harness) { program in
      let product = FixturePackage.product
      let manifest = try await program.get("/manifest/\(product)/1.0")
      #expect(manifest.headers["Content-Type"] == "application/divina+json")
      let document = try #require(
        try JSONSerialization.jsonObject(with: Data(manifest.body)) as? [String: Any])
      #expect((document["readingOrder"] as? [Any])?.count == 3)
      for (number, page) in Self.pages.enumerated() {
        let path = "/pages/\(product)/1.0/\(number)"
        let whole = try await program.get(path)
        #expect(whole.status == 200 && whole.body == page.bytes, "\(number)")
        #expect(whole.headers["Content-Type"] == "image/jpeg")
        let part = try await program.get(path, [("Range", "bytes=1000-3999")])
        #expect(part.status == 206 && part.body == Array(page.bytes[1000..<4000]), "\(number)")
        #expect(part.headers["ETag"] == whole.headers["ETag"])
      }
      #expect(Self.text(try await program.get("/v1.2/owned")).contains(#"pse:count="3""#))
      let file = try await program.get("/files/\(product)/1.0/\(product).cbz")
      #expect(file.status == 200 && file.body == bytes)
    }
  }

  @Test("a folder is one archive with the same bytes each time, in any ranges; a single file is as it came")
  func files() async throws {
    let harness = try AgentHarness()
    let single = try FixturePackage.file(length: 40_000, product: Self.other)
    let comic = try Self.comic()
    try await reading([comic, single], harness) { program in
      let path = "/files/\(FixturePackage.product)/1.0/\(FixturePackage.product)"
      // The notes are no page: it is an archive like any other, unless all that is read are pictures.
      let name = PackageFacts.fileName(
        of: comic.manifest.product, PackageFacts(comic.manifest))
      let whole = try await program.get("/files/\(FixturePackage.product)/1.0/\(name)")
      #expect(whole.status == 200)
      let length = ByteCount(whole.body.count)
      let directory = try #require(
        ArchivePages.directory(
          inTail: Array(whole.body[Range(ArchivePages.tail(of: length), in: whole.body)]), of: length))
      let entries = try #require(
        ArchivePages.entries(inDirectory: Array(whole.body[Range(directory, in: whole.body)])))
      for entry in entries {
        let file = try #require(
          entry.file(behind: Array(whole.body[Range(entry.header, in: whole.body)])))
        let bytes = Array(whole.body[Range(file.range, in: whole.body)])
        #expect(bytes == comic.files[entry.path] && file.check == .checksum(CRC32.of(bytes)))
      }
      #expect(entries.count == 4)
      let tag = try #require(whole.headers["ETag"])
      var joined: [UInt8] = []
      for start in stride(from: 0, to: whole.body.count, by: 3001) {
        let end = min(start + 3000, whole.body.count - 1)
        let part = try await program.get(
          "/files/\(FixturePackage.product)/1.0/\(name)",
          [("Range", "bytes=\(start)-\(end)"), ("If-Range", tag)])
        #expect(part.status == 206 && part.headers["ETag"] == tag)
        joined += part.body
      }
      #expect(joined == whole.body)
      #expect(try await program.get("\(path).exe").status == 404)
      let pdf = try await program.get("/files/\(Self.other)/1.0/\(Self.other).pdf")
      #expect(pdf.body == single.bytes && pdf.headers["ETag"] == "\"\(single.manifest.digest)\"")
      #expect(pdf.headers["Content-Type"] == "application/pdf")
      #expect(
        pdf.headers["Content-Disposition"]?.hasPrefix("attachment; filename=\"\(Self.other).pdf\"") == true)
    }
  }

  @Test("what was changed since it was placed is not sent, and feeds do not show it any more")
  func damaged() async throws {
    let harness = try AgentHarness()
    let path = "\(harness.library)/\(FixturePackage.product)/1.0/page 2.jpg"
    try await reading([try Self.comic()], harness) { program in
      let product = FixturePackage.product
      #expect(try await program.get("/pages/\(product)/1.0/1").status == 200)
      var bytes = Self.pages[1].bytes
      bytes[2500] ^= 1
      try FileSystem.removeFile(path)
      try DurableFile.write(bytes.span, to: path)
      let answer = try await program.get("/pages/\(product)/1.0/1")
      #expect(answer.status == 503)
      #expect(try APIJSON.decode(Problem.self, from: answer.body).code == .contentDamaged)
      // Feeds do not show what cannot be read.
      #expect(!Self.text(try await program.get("/v2/owned")).contains(product))
    }
  }

  @Test(
    "a folder whose archive was sent before is refused as soon as one of its files has changed, whole and in ranges"
  )
  func damagedFolder() async throws {
    let harness = try AgentHarness()
    let comic = try Self.comic()
    let path = "\(harness.library)/\(FixturePackage.product)/1.0/page 2.jpg"
    try await reading([comic], harness) { program in
      let name = PackageFacts.fileName(of: comic.manifest.product, PackageFacts(comic.manifest))
      let address = "/files/\(FixturePackage.product)/1.0/\(name)"
      #expect(try await program.get(address).status == 200)
      try FileSystem.removeFile(path)
      try DurableFile.write(Array(repeating: 1, count: Self.pages[1].bytes.count).span, to: path)
      #expect(try await program.get(address).status == 503)
      #expect(try await program.get(address, [("Range", "bytes=0-9")]).status == 503)
    }
  }

  @Test(
    "what stands in a file's place and is none is not waited for, and damages its product alone",
    arguments: [true, false])
  func somethingElse(isPipe: Bool) async throws {
    let harness = try AgentHarness()
    let path = "\(harness.library)/\(FixturePackage.product)/1.0/page 2.jpg"
    try await reading([try Self.comic()], harness) { program in
      try FileSystem.removeFile(path)
      let made = isPipe ? unsafe mkfifo(path, 0o600) : unsafe symlink("/etc/passwd", path)
      #expect(made == 0)
      for _ in 0..<12 {
        #expect(try await program.get("/pages/\(FixturePackage.product)/1.0/1").status == 503)
      }
    }
  }
}

extension Range<Int> {
  fileprivate init(_ range: Range<Int64>, in bytes: [UInt8]) {
    self = Int(range.lowerBound)..<Int(range.upperBound)
  }
}
