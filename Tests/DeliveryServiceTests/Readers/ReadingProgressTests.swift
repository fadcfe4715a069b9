import Commerce
import ContentGrants
import CoreTypes
import Crypto
import Database
import Foundation
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import CatalogFeeds
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Reading on".
@Suite("Reading on where another device ended")
struct ReadingProgressTests {
  private static let path = "/opds/progress/com.example.issue1"
  private static let type = "application/vnd.readium.progression+json"
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let archive = ZipMaker(
    (0..<10).map { ZipMaker.Entry("p\($0).png", png + [UInt8](repeating: UInt8($0), count: 3000)) }
  ).bytes

  private func put(_ text: String, _ shop: ReaderShop, as key: NewReaderKey?) async throws -> ClientResponse {
    try await shop.send(
      "PUT", Self.path, as: key, headers: [("Content-Type", "application/json")], body: Array(text.utf8))
  }

  private func object(_ answer: ClientResponse) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
  }

  private func time(_ shop: ReaderShop, minus seconds: Int) -> String {
    (shop.server.clock.now() - .seconds(seconds)).rfc3339
  }

  private func mark(_ page: Int, at time: String, on device: String) -> String {
    #"{"modified": "\#(time)", "device": {"id": "\#(device)", "name": "My \#(device)"}, "page": \#(page)}"#
  }

  @Test("the later word counts, whichever came last, and of two of one time that of the device behind")
  func later() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let (tablet, phone) = (try await shop.add("Tablet"), try await shop.add("Phone"))
      let nothing = try await shop.send(Self.path, as: tablet)
      #expect(nothing.status == 204)
      let (early, late) = (time(shop, minus: 60), time(shop, minus: 10))
      for (page, time, device, standing) in [
        (3, early, "b", 3), (5, late, "b", 5), (4, early, "c", 5), (6, late, "a", 5), (7, late, "c", 7),
        (8, late, "c", 8),
      ] {
        let answer = try await put(mark(page, at: time, on: device), shop, as: tablet)
        #expect(answer.status == 200)
        let told = try object(try await shop.send(Self.path, as: phone))
        #expect(told["page"] as? Int == standing, "\(page) at \(time) on \(device)")
        #expect(try object(answer)["page"] as? Int == standing)
      }
    }
  }

  @Test("a time to come counts as now, and a locator is kept, and made of a page where there is none")
  func locator() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      _ = try await put(mark(4, at: "2099-01-01T00:00:00Z", on: "a"), shop, as: key)
      let answer = try await shop.send(Self.path, as: key)
      #expect(answer.headers["Content-Type"] == Self.type)
      let made = try object(answer)
      #expect(made["modified"] as? String == shop.server.clock.now().rfc3339)
      let locator = try #require(made["locator"] as? [String: Any])
      #expect(locator["href"] as? String == "/opds/pages/com.example.issue1/1.0/4")
      let locations = try #require(locator["locations"] as? [String: Any])
      #expect(locations["position"] as? Int == 5)
      #expect(locations["totalProgression"] as? Double == 0.5)
      shop.server.clock.advance(by: .seconds(5))
      let told = """
        {"modified": "\(time(shop, minus: 0))", "device": {"id": "a"}, "locator": {"href": "x/7", "type": "image/png",
        "locations": {"position": 8, "totalProgression": 0.8}, "text": {"highlight": "漢"}}}
        """
      _ = try await put(told, shop, as: key)
      let kept = try object(try await shop.send(Self.path, as: key))
      #expect(kept["page"] as? Int == 7)
      let other = try #require(kept["locator"] as? [String: Any])
      #expect(other["href"] as? String == "x/7")
      #expect((other["text"] as? [String: Any])?["highlight"] as? String == "漢")
    }
  }

  @Test(
    "what was begun is in a feed of the start until it was read to its end or given back, with the last page")
  func feeds() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      for form in ["v1.2", "v2"] {
        let start = try await shop.text("/opds/\(form)", as: key)
        #expect(start.contains("/opds/\(form)/reading"))
        let none = try await shop.text("/opds/\(form)/reading", as: key)
        #expect(!none.contains("urn:pullbox:product:"))
      }
      _ = try await put(mark(4, at: time(shop, minus: 9), on: "a"), shop, as: key)
      let atom = try await shop.text("/opds/v1.2/reading", as: key)
      #expect(
        atom.contains("pse:count=\"10\" pse:lastRead=\"5\" pse:lastReadDate=\"\(time(shop, minus: 9))\""))
      let json = try await shop.text("/opds/v2/reading", as: key)
      #expect(json.contains("urn:pullbox:product:com.example.issue1"))
      #expect(json.contains(Self.path) && json.contains(Self.type))
      let manifest = try await shop.text("/opds/manifest/com.example.issue1/1.0", as: key)
      #expect(manifest.contains(Self.path))
      _ = try await put(mark(9, at: time(shop, minus: 1), on: "a"), shop, as: key)
      #expect(try await !shop.text("/opds/v2/reading", as: key).contains("urn:pullbox:product:"))
      #expect(try await shop.text("/opds/v1.2/owned", as: key).contains("pse:lastRead=\"10\""))
      _ = try await put(mark(2, at: time(shop, minus: 0), on: "a"), shop, as: key)
      try await shop.refund()
      #expect(try await !shop.text("/opds/v1.2/reading", as: key).contains("urn:pullbox:product:"))
      for method in ["GET", "PUT"] {
        let answer = try await shop.send(
          method, Self.path, as: key, headers: [("Content-Type", "application/json")],
          body: method == "PUT" ? Array(mark(1, at: time(shop, minus: 0), on: "a").utf8) : nil)
        #expect(answer.status == 402, "\(method)")
      }
      let stranger = try await shop.send("/opds/v1.2/reading")
      #expect(stranger.status == 401)
    }
  }

  @Test("what cannot be is refused, and what is no one's is told to no one")
  func refusals() async throws {
    try await ReaderShop.run(Self.archive, options: ["--catalog-feeds-public"]) { shop in
      let key = try await shop.add()
      let now = time(shop, minus: 0)
      for text in [
        "", "{}", "[]", #"{"modified": "yesterday", "device": {"id": "a"}}"#, mark(-1, at: now, on: "a"),
        mark(10, at: now, on: "a"), mark(1, at: now, on: ""),
        #"{"modified": "\#(now)", "device": {"id": "a"}, "page": 3, "locator": {"href": "x", "type": "y", "locations": {"position": 9}}}"#,
        mark(1, at: now, on: String(repeating: "x", count: 256)), mark(1, at: now, on: #"a\u0000"#),
        #"{"modified": "\#(now)", "device": {"id": "a"}, "progression": 1.5}"#,
        #"{"modified": "\#(now)", "device": {"id": "a"}, "page": 9223372036854775808}"#,
        #"{"modified": "\#(now)", "device": {"id": "a"}, "page": 1, "page": 2}"#,
        #"{"modified": "\#(now)", "device": {"id": "a"}, "page": 1, "p\u0061ge": 1}"#,
        #"{"modified": "\#(now)", "device": {"id": "a", "id": "b"}, "page": 1}"#,
      ] {
        let answer = try await put(text, shop, as: key)
        #expect(answer.status == 400, "\(text.prefix(80))")
      }
      let long = try await put(
        String(repeating: " ", count: 20_000) + mark(1, at: now, on: "a"), shop, as: key)
      #expect(long.status == 413)
      let stranger = try await put(mark(1, at: now, on: "a"), shop, as: nil)
      #expect(stranger.status == 401)
      let unknown = try await shop.send("/opds/progress/com.example.nothing", as: key)
      #expect(unknown.status == 404)
      let nothing = try await shop.send(Self.path, as: key)
      #expect(nothing.status == 204)
    }
  }

  @Test("half of a character is refused as what it is")
  func surrogates() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      for name in [#"\ud800"#, #"x\udc00y"#, #"\udc00\ud800"#, #"\ud800\ud800"#, #"\\\ud83d"#] {
        let answer = try await put(mark(1, at: time(shop, minus: 0), on: name), shop, as: key)
        #expect(answer.status == 400, "\(name)")
        #expect(String(decoding: answer.body, as: UTF8.self).contains("surrogate"), "\(name)")
      }
      let whole = try await put(mark(1, at: time(shop, minus: 0), on: #"\ud83d\ude00"#), shop, as: key)
      #expect(whole.status == 200)
    }
  }

  @Test("a word that is told for a state which is there no more is refused")
  func conditions() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      func tell(_ page: Int, _ field: (String, String)) async throws -> ClientResponse {
        shop.server.clock.advance(by: .seconds(1))
        return try await shop.send(
          "PUT", Self.path, as: key, headers: [("Content-Type", "application/json"), field],
          body: Array(mark(page, at: time(shop, minus: 0), on: "a").utf8))
      }
      #expect(try await tell(1, ("If-Match", "*")).status == 412)
      #expect(try await tell(1, ("If-None-Match", "*")).status == 200)
      #expect(try await tell(2, ("If-None-Match", "*")).status == 412)
      let read = try await shop.send(Self.path, as: key)
      let tag = try #require(read.headers["ETag"])
      let known = try await shop.send("GET", Self.path, as: key, headers: [("If-None-Match", tag)])
      #expect(known.status == 304)
      let told = try await tell(3, ("If-Match", tag))
      #expect(told.status == 200)
      #expect(try await tell(4, ("If-Match", tag)).status == 412)
      let next = try #require(told.headers["ETag"])
      #expect(try await tell(5, ("If-Match", "\"x\", \(next)")).status == 200)
      #expect(try object(try await shop.send(Self.path, as: key))["page"] as? Int == 5)
    }
  }

  @Test("KOReader tells parts of the whole, and a question about a name looks into few packages, each once")
  func bounds() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      let md5 = try #require(MD5.hexadecimal(of: Array(key.password.utf8)))
      let fields = [("x-auth-user", key.name), ("x-auth-key", md5), ("Content-Type", "application/json")]
      _ = try await shop.send("/opds/files/com.example.issue1/1.0/com.example.issue1.cbz", as: key)
      let byName = try #require(MD5.hexadecimal(of: Array("com.example.issue1.cbz".utf8)))
      for (percentage, status) in [
        ("0", 200), ("0.25", 200), ("1", 200), ("1.0", 200), ("40", 400), ("1.01", 400), ("-0.1", 400),
        ("1e300", 400), ("1e999", 400),
      ] {
        let body =
          #"{"document": "\#(byName)", "progress": "1", "percentage": \#(percentage), "device_id": "k"}"#
        let answer = try await shop.send(
          "PUT", "/opds/koreader/syncs/progress", headers: fields, body: Array(body.utf8))
        #expect(answer.status == status, "\(percentage)")
        if percentage == "40" {
          #expect(String(decoding: answer.body, as: UTF8.self).contains("percentage is a part of the whole"))
        }
      }
      let twice = #"{"document": "\#(byName)", "progress": "1", "progress": "2"}"#
      let refused = try await shop.send(
        "PUT", "/opds/koreader/syncs/progress", headers: fields, body: Array(twice.utf8))
      #expect(refused.status == 400)
    }
  }

  @Test(
    "a package that could not be read is not tried again within a minute, and a name that is known is not made again"
  )
  func remembered() {
    let documents = SyncDocuments()
    let (digest, now) = (SHA256Digest.of([1]), Timestamp(millisecondsSinceEpoch: 1_795_257_000_000))
    #expect(!documents.hasFailed(digest, at: now))
    documents.noteFailure(of: digest, at: now)
    #expect(documents.hasFailed(digest, at: now + .seconds(59)))
    #expect(!documents.hasFailed(digest, at: now + .seconds(60)))
    #expect(!documents.hasFailed(digest, at: now - .seconds(1)))
    #expect(documents.knownName(of: digest) == nil)
  }

  @Test("KOReader signs in by a name and the MD5 of the words, and goes on from what others told")
  func koReader() async throws {
    try await ReaderShop.run(Self.archive) { shop in
      let key = try await shop.add()
      let md5 = try #require(MD5.hexadecimal(of: Array(key.password.utf8)))
      let fields = [("x-auth-user", key.name), ("x-auth-key", md5), ("Content-Type", "application/json")]
      func sync(_ method: String, _ path: String, _ body: String? = nil) async throws -> ClientResponse {
        try await shop.send(
          method, "/opds/koreader/\(path)", headers: fields, body: body.map { Array($0.utf8) })
      }
      let signedIn = try await sync("GET", "users/auth")
      #expect(signedIn.status == 200)
      #expect(try object(signedIn)["authorized"] as? String == "OK")
      for wrong in [
        [fields[0]], [fields[0], ("x-auth-key", key.password)], [("x-auth-user", "x"), fields[1]],
      ] {
        let answer = try await shop.send("/opds/koreader/users/auth", headers: wrong)
        #expect(answer.status == 401)
        #expect(answer.headers["Content-Type"] == "application/opds-authentication+json")
      }
      // A key that was made before has no MD5, and nothing stands for it.
      let earlier = try await shop.add("Earlier")
      try await shop.server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
        _ = try connection.execute(
          "UPDATE reader_keys SET sync_digest = NULL WHERE name = ?", [.text(earlier.name)])
      }
      for shown in ["", md5] {
        let answer = try await shop.send(
          "/opds/koreader/users/auth", headers: [("x-auth-user", earlier.name), ("x-auth-key", shown)])
        #expect(answer.status == 401)
      }
      // The two fields open nothing else.
      let elsewhere = try await shop.send("/opds/v2/owned", headers: fields)
      #expect(elsewhere.status == 401)
      let parts = SyncDocuments.starts(inFileOf: Int64(Self.archive.count)).flatMap { start in
        Self.archive[Int(start)..<min(Self.archive.count, Int(start) + 1024)]
      }
      let document = try #require(MD5.hexadecimal(of: parts))
      let progress =
        #"{"document": "\#(document)", "progress": "4", "percentage": 0.4, "device": "Kobo", "device_id": "k"}"#
      // It has fetched nothing so far.
      let early = try await sync("PUT", "syncs/progress", progress)
      #expect(early.status == 404)
      let none = try await sync("GET", "syncs/progress/\(document)")
      #expect(none.status == 200)
      #expect(try object(none).isEmpty)
      let file = try await shop.send("/opds/files/com.example.issue1/1.0/com.example.issue1.cbz", as: key)
      #expect(file.body == Self.archive)
      let told = try await sync("PUT", "syncs/progress", progress)
      #expect(told.status == 200)
      #expect(try object(told)["document"] as? String == document)
      let read = try object(try await shop.send(Self.path, as: key))
      #expect(read["page"] as? Int == 3)
      shop.server.clock.advance(by: .seconds(5))
      // An application gives back what it was told, KOReader's place with it.
      let change = mark(6, at: time(shop, minus: 0), on: "a").dropLast() + #", "position": "4"}"#
      _ = try await put(String(change), shop, as: key)
      let byName = try #require(MD5.hexadecimal(of: Array("com.example.issue1.cbz".utf8)))
      for name in [document, byName] {
        let later = try object(try await sync("GET", "syncs/progress/\(name)"))
        #expect(later["progress"] as? String == "7")
        #expect(later["percentage"] as? Double == 0.7)
        #expect(later["device"] as? String == "My a")
        #expect(later["timestamp"] as? Int == Int(shop.server.clock.now().secondsSinceEpoch))
      }
      try await shop.remove(key)
      let gone = try await sync("GET", "users/auth")
      #expect(gone.status == 401)
    }
  }

  @Test("the parts by which KOReader names a file begin at zero and at 1 KiB times the powers of four")
  func parts() {
    #expect(SyncDocuments.starts(inFileOf: 0) == [])
    #expect(SyncDocuments.starts(inFileOf: 1024) == [0])
    #expect(SyncDocuments.starts(inFileOf: 20_000) == [0, 1024, 4096, 16_384])
    #expect(SyncDocuments.starts(inFileOf: 2 << 30).last == 1 << 30)
  }

  @Test("MD5 is that of RFC 1321")
  func digest() {
    #expect(MD5.hexadecimal(of: []) == "d41d8cd98f00b204e9800998ecf8427e")
    #expect(MD5.hexadecimal(of: Array("message digest".utf8)) == "f96b697d7cb7938d525a2f31aaf161d0")
  }
}
