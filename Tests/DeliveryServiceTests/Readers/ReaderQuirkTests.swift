import Foundation
import HTTPClient
import PullboxAPI
import Testing

@testable import DeliveryService

/// The stones that applications for reading have stumbled over elsewhere, each by its name (docs/catalogue-feeds.md, "What is checked").
@Suite("Applications for reading as they are", .timeLimit(.minutes(2)))
struct ReaderQuirkTests {
  private static let content = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }
  private static let feeds = [
    "/opds", "/opds/v1.2", "/opds/v2", "/opds/v1.2/publications", "/opds/v1.2/new", "/opds/v1.2/owned",
    "/opds/v2/owned", "/opds/v1.2/search?q=one", "/opds/v1.2/products/\(ReaderShop.issue)",
  ]

  /// The values of attributes called `href` in Atom.
  private func links(of text: String) -> [String] {
    text.matches(of: /href="([^"]*)"/).map { String($0.output.1).replacing("&amp;", with: "&") }
  }

  private func run(_ body: @escaping (ReaderShop, NewKey) async throws -> Void) async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      try await body(shop, NewKey(name: key.name, field: ReaderShop.basic(key)))
    }
  }

  private struct NewKey {
    var name: String
    var field: (String, String)
  }

  @Test("Moon+: no element says its language by an attribute that strict parsers refuse")
  func moon() async throws {
    try await run { shop, key in
      for feed in Self.feeds {
        let answer = try await shop.send(feed, headers: [key.field, ("Accept", "application/atom+xml")])
        #expect(answer.status == 200, "\(feed)")
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("xml:lang"), "\(feed)")
      }
    }
  }

  @Test("KOReader: what belongs to page streaming has the prefix pse, by which it looks for it")
  func koreader() async throws {
    try await run { shop, key in
      let text = String(
        decoding: try await shop.send("/opds/v1.2/owned", headers: [key.field]).body, as: UTF8.self)
      #expect(text.contains("xmlns:pse=\"http://vaemendis.net/opds-pse/ns\""))
      #expect(text.matches(of: /xmlns:[a-z0-9]+="http:\/\/vaemendis\.net\/opds-pse\/ns"/).count == 1)
    }
  }

  @Test("BackIssueApp and foragerr: covers and files lie in the realm of the feeds, and ask for the same key")
  func realm() async throws {
    try await run { shop, key in
      var seen: Set<String> = []
      for feed in Self.feeds {
        let answer = try await shop.send(feed, headers: [key.field, ("Accept", "application/atom+xml")])
        for link in links(of: String(decoding: answer.body, as: UTF8.self))
        where link.hasPrefix("/opds") && !link.contains("{") && seen.insert(link).inserted {
          let closed = try await shop.send(link)
          if closed.status == 401 {
            let challenge = closed.headers["WWW-Authenticate"] ?? ""
            #expect(challenge.contains("Basic realm="), "\(link)")
            #expect(
              closed.headers["Content-Type"]?.hasPrefix("application/opds-authentication+json") == true,
              "\(link)")
          }
          let open = try await shop.send(link, headers: [key.field])
          #expect(open.status == 200, "\(link)")
          #expect(open.headers["Set-Cookie"] == nil && closed.headers["Set-Cookie"] == nil, "\(link)")
        }
      }
      #expect(seen.contains { $0.hasPrefix("/opds/files/") })
    }
  }

  @Test("no name of an application changes an answer, and none leads elsewhere")
  func userAgents() async throws {
    try await run { shop, key in
      for feed in Self.feeds {
        let plain = try await shop.send(feed, headers: [key.field])
        #expect(plain.status == 200, "\(feed)")
        for agent in [
          "Panels/2", "MoonReader", "KOReader/2025.04", "Thorium/3.0", "FBReader/2.0 (Linux)", "-",
        ] {
          let other = try await shop.send(feed, headers: [key.field, ("User-Agent", agent)])
          #expect(other.status == plain.status && other.body == plain.body, "\(feed) \(agent)")
          #expect(other.headers["Content-Type"] == plain.headers["Content-Type"])
          #expect(other.headers["Location"] == nil)
        }
      }
    }
  }
}
