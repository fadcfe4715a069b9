import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Database
import DeliveryModel
import Files
import Foundation
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Page by page".
@Suite("Comics page by page")
struct CatalogPageTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let bitmap =
    Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40] + [UInt8](repeating: 0, count: 100)
  private static let manifest = "/opds/manifest/com.example.issue1/1.0"

  private static func picture(_ seed: Int, _ length: Int = 7000) -> [UInt8] {
    png + (0..<length).map { UInt8(truncatingIfNeeded: $0 &* seed / 3) }
  }

  private static func path(_ page: String) -> String { "/opds/pages/com.example.issue1/1.0/\(page)" }

  private static let pages = [5, 11, 23].map { picture($0) }
  private static let narrow = picture(7, 900)

  /// A folder of three pages, the second of which is there in two widths, with a document that names one.
  private static func folder() throws -> (bytes: [UInt8], manifest: [UInt8]) {
    let directory = try TemporaryDirectory()
    let folder = directory.path("issue")
    try FileSystem.createDirectories(folder)
    let guide = """
      <ComicInfo><Manga>YesAndRightToLeft</Manga><Pages><Page Image="1" Bookmark="The &lt;second>"/>\
      <Page Image="9" Bookmark="Beyond"/></Pages></ComicInfo>
      """
    for (name, bytes) in [
      ("page-1.png", pages[0]), ("page-2.png", pages[1]), ("page-2@240w.png", narrow),
      ("page-10.png", pages[2]),
      ("ComicInfo.xml", Array(guide.utf8)),
    ] {
      try DurableFile.write(bytes.span, to: "\(folder)/\(name)")
    }
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(ReaderShop.issue)), version: try #require(ContentVersion("1.0"))
    )
    let packed = try builder.pack(folder: folder, to: directory.path("issue.zip"))
    return (
      try FileSystem.read(directory.path("issue.zip"), upTo: .mebibytes(1)), packed.manifest.canonicalBytes()
    )
  }

  private static func runFolder(
    prices: [String: String] = ["FRA": "2.99"], options: [String] = [],
    _ body: @escaping (ReaderShop) async throws -> Void
  ) async throws {
    let package = try folder()
    try await ReaderShop.run(
      package.bytes, named: "issue.zip", manifest: package.manifest, prices: prices, options: options, body)
  }

  @Test("the pages of what is owned are sent one by one, in ranges, to its key alone")
  func owned() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      for (number, bytes) in Self.pages.enumerated() {
        let path = Self.path("\(number)")
        let answer = try await shop.send(path, as: key)
        #expect(answer.status == 200)
        #expect(answer.body == bytes)
        #expect(answer.headers["Content-Type"] == "image/png")
        #expect(answer.headers["ETag"] == "\"\(SHA256Digest.of(bytes))\"")
        #expect(answer.headers["Cache-Control"] == "private, no-cache")
        #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
        let part = try await shop.send(path, as: key, headers: [("Range", "bytes=10-19")])
        #expect(part.status == 206)
        #expect(part.body == Array(bytes[10..<20]))
        #expect(part.headers["Content-Range"] == "bytes 10-19/\(bytes.count)")
        let beyond = try await shop.send(path, as: key, headers: [("Range", "bytes=99999999-")])
        #expect(beyond.status == 416)
        let several = try await shop.send(path, as: key, headers: [("Range", "bytes=0-1,5000-5001")])
        #expect(several.status == 200 && several.body == bytes)
        let known = try await shop.send(
          path, as: key, headers: [("If-None-Match", try #require(answer.headers["ETag"]))])
        #expect(known.status == 304)
        let head = try await shop.send("HEAD", path, as: key)
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head.headers["Content-Length"] == "\(bytes.count)")
        let stranger = try await shop.send(path)
        #expect(stranger.status == 401)
      }
    }
  }

  @Test("a page that was sent before is answered on the loop, in every field as it is off the loop")
  func loop() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      _ = try await shop.send(Self.path("0"), as: key)
      let tag = "\"\(SHA256Digest.of(Self.pages[0]))\""
      let requests: [(String, [(String, String)])] = [
        ("GET", []), ("HEAD", []), ("GET", [("Range", "bytes=10-19")]), ("GET", [("Range", "bytes=-5")]),
        ("GET", [("Range", "bytes=99999999-")]), ("GET", [("Range", "bytes=0-1,5000-5001")]),
        ("GET", [("If-None-Match", tag)]), ("GET", [("If-Match", "\"a\"")]),
        ("GET", [("Range", "bytes=0-1"), ("If-Range", tag)]),
        ("GET", [("Range", "bytes=0-1"), ("If-Range", "\"a\"")]),
      ]
      for (method, headers) in requests {
        let here = try #require(
          try await Self.onLoop(shop) {
            try await shop.send(method, Self.path("0"), as: key, headers: headers)
          },
          "no loop answers \(method) \(headers)")
        // A query is read off the loops alone.
        let there = try await shop.send(method, Self.path("0?locale=en"), as: key, headers: headers)
        #expect(here.status == there.status && here.body == there.body, "\(method) \(headers)")
        for name in [
          "Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Length", "Content-Range",
          "Content-Security-Policy", "Content-Type", "ETag", "Vary", "X-Content-Type-Options",
        ] {
          #expect(here.headers[name] == there.headers[name], "\(method) \(headers): \(name)")
        }
        #expect(here.headers["X-Request-Id"] != nil)
      }
    }
  }

  /// The first answer that a loop has given, of three: an admission lasts a second, and the answer behind its end is a task's.
  private static func onLoop(
    _ shop: ReaderShop, _ send: () async throws -> ClientResponse
  ) async throws -> ClientResponse? {
    for _ in 0..<3 {
      let before = try await answersOffLoops(shop)
      let answer = try await send()
      if try await answersOffLoops(shop) == before { return answer }
    }
    return nil
  }

  /// Durations are of answers off the loops alone.
  private static func answersOffLoops(_ shop: ReaderShop) async throws -> Int {
    let page = try await shop.server.client.send(
      ClientRequest(method: "GET", url: shop.server.api.url("/metrics")))
    let name =
      "pullbox_http_request_duration_seconds_count{route=\"/opds/pages/{id}/{version}/{n}\"}"
    let line = String(decoding: page.body, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
    return try #require(line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) })
  }

  @Test(
    "a page that is spelled in another way, has no such number, or is asked for by another key is not answered from what is remembered"
  )
  func loopRefusals() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      #expect(try await shop.send(Self.path("0"), as: key).status == 200)
      for page in ["00", "3", "-1", "0/", "", "99999999999999999999", "0x"] {
        #expect(try await shop.send(Self.path(page), as: key).status == 404, "\(page)")
      }
      #expect(try await shop.send(Self.path("%30"), as: key).status == 200)
      #expect(try await shop.send(Self.path("0")).status == 401)
      let wrong = [("Authorization", "Basic " + Base64.encode(Array("a:b".utf8)))]
      #expect(try await shop.send(Self.path("0"), headers: wrong).status == 401)
    }
  }

  @Test("a page of a folder that is a drawing counts as a page, as one of an archive does, and is a download")
  func drawing() async throws {
    let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".utf8)
    let directory = try TemporaryDirectory()
    let folder = directory.path("issue")
    try FileSystem.createDirectories(folder)
    for (name, bytes) in [
      ("page-1.png", Self.pages[0]), ("page-2.svg", drawing), ("page-3.png", Self.pages[1]),
    ] {
      try DurableFile.write(bytes.span, to: "\(folder)/\(name)")
    }
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(ReaderShop.issue)), version: try #require(ContentVersion("1.0"))
    )
    let packed = try builder.pack(folder: folder, to: directory.path("issue.zip"))
    let package = try FileSystem.read(directory.path("issue.zip"), upTo: .mebibytes(1))
    try await ReaderShop.run(package, named: "issue.zip", manifest: packed.manifest.canonicalBytes()) {
      shop in
      let key = try await shop.add()
      #expect(try await shop.text("/opds/v1.2/owned", as: key).contains("pse:count=\"3\""))
      let page = try await shop.send(Self.path("1"), as: key)
      #expect(page.status == 200 && page.body == drawing)
      #expect(page.headers["Content-Type"] == "application/octet-stream")
      #expect(page.headers["Content-Disposition"] == "attachment")
      let behind = try await shop.send(Self.path("2"), as: key)
      #expect(behind.body == Self.pages[1])
      let manifest = try await shop.text(Self.manifest, as: key)
      #expect(manifest.contains("page") && manifest.contains("\"numberOfPages\":3"))
    }
  }

  @Test("a width chooses among the pictures that the package has, and else the page as it is")
  func widths() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      for (query, bytes) in [
        ("1?width=200", Self.narrow), ("1?width=240", Self.narrow), ("1?width=241", Self.pages[1]),
        ("1?width=10000", Self.pages[1]), ("0?width=100", Self.pages[0]), ("1", Self.pages[1]),
      ] {
        let answer = try await shop.send(Self.path(query), as: key)
        #expect(answer.body == bytes, "\(query)")
      }
    }
  }

  @Test("a number that no page has is 404, and a parameter that is wrong or there twice is 400")
  func hostile() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      for number in [
        "-1", "3", "9223372036854775807", "9223372036854775808", "+1", "01", "1e3", "x", "%D9%A1",
      ] {
        let answer = try await shop.send(Self.path(number), as: key)
        #expect(answer.status == 404, "\(number)")
      }
      for query in [
        "width=0", "width=-1", "width=9223372036854775808", "width=x", "width=%7BmaxWidth%7D",
        "width=1&width=1", "width=+1", "width=%2B1", "width=01", "width=",
        "n=1", "territory=FRA&territory=FRA",
      ] {
        let answer = try await shop.send(Self.path("0?\(query)"), as: key)
        #expect(answer.status == 400, "\(query)")
      }
      let twice = try await shop.send("\(Self.manifest)?locale=en&locale=en", as: key)
      #expect(twice.status == 400)
      for path in [
        "/opds/pages/com.example.issue1/1.1/0", "/opds/manifest/com.example.issue1/1.1",
        "/opds/pages/com.example.nothing/1.0/0", "/opds/manifest/com.example.nothing/1.0",
        "/opds/pages/com.example.issue1/x/0",
      ] {
        let answer = try await shop.send(path, as: key)
        #expect(answer.status == 404 || answer.status == 402, "\(path): \(answer.status)")
      }
    }
  }

  @Test(
    "a refund takes the pages, the manifest and the links with the next request, and so does a withdrawal")
  func refund() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      let before = try await shop.send(Self.path("0"), as: key)
      #expect(before.status == 200)
      try await shop.refund()
      for path in [Self.path("0"), Self.manifest] {
        let after = try await shop.send(path, as: key)
        #expect(after.status == 402 || after.status == 403, "\(path): \(after.status)")
      }
      for form in ["v1.2", "v2"] {
        let entry = try await shop.text("/opds/\(form)/products/com.example.issue1", as: key)
        #expect(!entry.contains("/opds/pages/") && !entry.contains("/opds/manifest/"))
      }
    }
    try await Self.runFolder { shop in
      let key = try await shop.add()
      let before = try await shop.send(Self.path("0"), as: key)
      #expect(before.status == 200)
      try await shop.server.step("withdraw", "1.0", ReasonBody())
      for path in [Self.path("0"), Self.manifest] {
        let after = try await shop.send(path, as: key)
        #expect([404, 410].contains(after.status), "\(path): \(after.status)")
      }
    }
  }

  @Test(
    "a key that is removed, and one whose grant is revoked, open no further page, however short ago they opened one"
  )
  func ended() async throws {
    try await Self.runFolder { shop in
      let (key, other) = (try await shop.add(), try await shop.add("Other"))
      for key in [key, other] {
        for number in ["0", "1"] {
          let page = try await shop.send(Self.path(number), as: key)
          #expect(page.status == 200)
        }
      }
      try await shop.remove(key)
      for number in ["1", "2"] {
        #expect(try await shop.send(Self.path(number), as: key).status == 401, "\(number)")
        #expect(try await shop.send(Self.path(number), as: other).status == 200, "\(number)")
      }
      let grants: PullboxAPI.Page<OperatorGrant> = try await shop.server.operatorAPI.get(
        "/v1/operator/deliveries", query: [("device", "reader-\(other.name)")])
      let grant = try #require(grants.items.first).grant
      _ = try await shop.server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(grant)/revoke", body: ReasonBody(), as: OperatorGrant.self)
      #expect(try await shop.send(Self.path("1"), as: other).status == 403)
      let wrong = NewReaderKey(name: other.name, password: "x", address: "")
      #expect(try await shop.send(Self.path("1"), as: wrong).status == 401)
    }
  }

  @Test("another customer's key opens neither pages nor manifest")
  func others() async throws {
    try await Self.runFolder { shop in
      try await shop.server.publish(Self.pages[0], as: "com.example.other")
      let receipt = try shop.server.store.receipt(
        of: [shop.server.purchase(of: "com.example.other", id: "2000000000000099")],
        device: shop.server.device.id)
      let key = try await shop.server.api.call(
        "POST", "/v1/readers",
        body: ReaderKeyRequest(
          proofs: ProofList(Proof(store: "sandbox", receipt: receipt)), device: shop.server.device, title: "x"
        ),
        as: NewReaderKey.self
      ).value
      for path in [Self.path("0"), "\(Self.manifest)?territory=FRA"] {
        let answer = try await shop.send(path, as: key)
        #expect(answer.status == 402, "\(path)")
      }
    }
  }

  @Test("what is free is read page by page by all to whom the shop is open")
  func free() async throws {
    try await Self.runFolder(prices: [:], options: ["--catalog-feeds-public"]) { shop in
      let page = try await shop.send(Self.path("2"))
      #expect(page.body == Self.pages[2])
      #expect(page.headers["Cache-Control"] == "public, no-cache")
      let entry = try await shop.text("/opds/v2/products/com.example.issue1")
      #expect(entry.contains(Self.manifest))
      let manifest = try await shop.send(Self.manifest)
      #expect(manifest.status == 200)
      let again = try await shop.send(
        Self.manifest, headers: [("If-None-Match", try #require(manifest.headers["ETag"]))])
      #expect(again.status == 304)
    }
  }

  @Test("feeds of OPDS 1.2 have the link of OPDS-PSE with its gaps, those of 2.0 the manifest")
  func links() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      let atom = try await shop.text("/opds/v1.2/owned", as: key)
      #expect(atom.contains("xmlns:pse=\"http://vaemendis.net/opds-pse/ns\""))
      #expect(
        atom.contains(
          "<link rel=\"http://vaemendis.net/opds-pse/stream\" type=\"image/png\" "
            + "href=\"/opds/pages/com.example.issue1/1.0/{pageNumber}?width={maxWidth}\" pse:count=\"3\"/>"))
      #expect(!atom.contains("/opds/manifest/"))
      let json = try await shop.text("/opds/v2/owned", as: key)
      #expect(json.contains("\"href\":\"\(Self.manifest)\""))
      #expect(json.contains("application/divina+json"))
      #expect(!json.contains("{pageNumber}"))
    }
  }

  @Test("a comic's manifest has its pages with type and size, its direction, its contents and the package")
  func manifest() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      let answer = try await shop.send(Self.manifest, as: key)
      #expect(answer.headers["Content-Type"] == "application/divina+json")
      let document = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
      #expect(document["@context"] as? String == "https://readium.org/webpub-manifest/context.jsonld")
      let metadata = try #require(document["metadata"] as? [String: Any])
      #expect(metadata["conformsTo"] as? String == "https://readium.org/webpub-manifest/profiles/divina")
      #expect(metadata["readingProgression"] as? String == "rtl")
      #expect(metadata["numberOfPages"] as? Int == 3)
      #expect(metadata["title"] as? String == "One")
      let order = try #require(document["readingOrder"] as? [[String: Any]])
      #expect(order.map { $0["href"] as? String } == ["0", "1", "2"].map(Self.path))
      #expect(order.map { $0["size"] as? Int } == Self.pages.map(\.count))
      #expect(order.allSatisfy { $0["type"] as? String == "image/png" })
      let alternates = try #require(order[1]["alternate"] as? [[String: Any]])
      #expect(alternates.map { $0["href"] as? String } == [Self.path("1?width=240")])
      #expect(alternates.map { $0["width"] as? Int } == [240])
      let contents = try #require(document["toc"] as? [[String: Any]])
      #expect(contents.map { $0["title"] as? String } == ["The <second>"])
      #expect(contents.map { $0["href"] as? String } == [Self.path("1")])
      let links = try #require(document["links"] as? [[String: Any]])
      #expect(
        links.map { $0["rel"] as? [String] } == [
          ["self"], ["alternate"], ["http://www.cantook.com/api/progression"],
        ])
      #expect(links[1]["type"] as? String == "application/vnd.comicbook+zip")
    }
  }

  @Test("an archive is read as its maker made it: stored and deflated pages, by their bytes' types")
  func archive() async throws {
    let long = Self.picture(13, 300_000)
    let archive = ZipMaker([
      ZipMaker.Entry("p10.jpg", long).with { $0.method = 8 },
      ZipMaker.Entry("p2.jpg", Self.pages[0]).with { $0.hasDescriptor = true },
      ZipMaker.Entry("p1.png", Self.pages[1]), ZipMaker.Entry("p3.bmp", Self.bitmap),
      ZipMaker.Entry("p4.jpg", "no picture at all"), ZipMaker.Entry("notes.txt", "x"),
      ZipMaker.Entry("__MACOSX/p5.jpg", Self.pages[0]),
    ]).bytes
    try await ReaderShop.run(archive) { shop in
      let key = try await shop.add()
      let atom = try await shop.text("/opds/v1.2/owned", as: key)
      #expect(atom.contains("pse:count=\"4\""))
      for (number, bytes, type) in [
        (0, Self.pages[1], "image/png"), (1, Self.pages[0], "image/png"),
        (2, Self.bitmap, "application/octet-stream"), (3, long, "image/png"),
      ] {
        let answer = try await shop.send(Self.path("\(number)"), as: key)
        #expect(answer.status == 200, "\(number)")
        #expect(answer.body == bytes, "\(number)")
        #expect(answer.headers["Content-Type"] == type)
        #expect(answer.headers["Content-Length"] == "\(bytes.count)")
        let isDownload = answer.headers["Content-Disposition"] == "attachment"
        #expect(isDownload == (type == "application/octet-stream"))
      }
      let part = try await shop.send(Self.path("1"), as: key, headers: [("Range", "bytes=0-7")])
      #expect(part.status == 206 && part.body == Self.png)
      let whole = try await shop.send(Self.path("3"), as: key, headers: [("Range", "bytes=0-7")])
      #expect(whole.status == 200 && whole.body == long)
      #expect(whole.headers["Accept-Ranges"] == nil)
      let beyond = try await shop.send(Self.path("4"), as: key)
      #expect(beyond.status == 404)
    }
  }

  @Test("a PDF document has a manifest with its one file, and no pages")
  func document() async throws {
    let bytes = Array("%PDF-1.7\n".utf8) + [UInt8](repeating: 0x20, count: 100)
    try await ReaderShop.run(bytes, named: "issue.pdf") { shop in
      let key = try await shop.add()
      let answer = try await shop.send(Self.manifest, as: key)
      #expect(answer.headers["Content-Type"] == "application/webpub+json")
      let document = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
      let order = try #require(document["readingOrder"] as? [[String: Any]])
      #expect(
        order.map { $0["href"] as? String } == ["/opds/files/com.example.issue1/1.0/com.example.issue1.pdf"])
      #expect(order.map { $0["type"] as? String } == ["application/pdf"])
      let page = try await shop.send(Self.path("0"), as: key)
      #expect(page.status == 404)
      let feed = try await shop.text("/opds/v1.2/owned", as: key)
      #expect(!feed.contains("opds-pse/stream"))
    }
  }

  @Test(
    "of a page whose bytes are not those that were published nothing is sent, and the package is set aside")
  func damage() async throws {
    let package = try Self.folder()
    try await ReaderShop.run(package.bytes, named: "issue.zip", manifest: package.manifest) { shop in
      let key = try await shop.add()
      let name = SHA256Digest.of(package.bytes).hexadecimal
      let path = shop.server.directory.path("state/blobs/\(name.prefix(2))/\(name.dropFirst(2))")
      let start = try #require(package.bytes.firstRange(of: Self.pages[0])).lowerBound
      do {
        let file = try FileDescriptor.open(path, .readWrite)
        try file.write([Self.pages[0][3000] ^ 1].span, at: ByteCount(start + 3000))
      }
      let answer = try await shop.send(Self.path("0"), as: key)
      #expect(answer.status == 503)
      #expect(String(decoding: answer.body, as: UTF8.self).contains("content-damaged"))
      let other = try await shop.send(Self.path("1"), as: key)
      #expect(other.status == 503)
    }
  }

  @Test("the bytes of a page are counted for the grant of its key")
  func counted() async throws {
    try await Self.runFolder { shop in
      let key = try await shop.add()
      _ = try await shop.send(Self.path("0"), as: key)
      let device = try #require(DeviceIdentifier("reader-\(key.name)"))
      let product = try #require(ProductIdentifier(ReaderShop.issue))
      let database = shop.server.server.grants.grantStore.database
      let grant = try #require(
        try await database.read { try GrantTable.all(of: product, on: device, in: $0) }.first)
      var bytes = ByteCount.zero
      // The loop counts what the kernel took, which the client may have read before.
      while bytes < ByteCount(Self.pages[0].count) {
        try await shop.server.server.recorder.record()
        bytes = try await database.read { try DeliveredBytesTable.bytes(of: grant.number, in: $0) }
      }
      #expect(bytes == ByteCount(Self.pages[0].count))
    }
  }
}
