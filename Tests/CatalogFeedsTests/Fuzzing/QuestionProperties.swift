import Commerce
import CoreTypes
import Foundation
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer

@testable import CatalogDocuments
@testable import CatalogFeeds

/// The target of a request of the catalog for readers: path, query, the choices of a reader, the words of a search, the parameters of an
/// application that signs in. Nothing is sent but to an address that only a program of the reader's own device gets, a policy is of one source,
/// and a query that is written is read as it was: the links of a feed carry on what its reader has chosen.
enum QuestionProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes.prefix(2048), as: UTF8.self)
    guard let target = try? RequestTarget(text) else { return nil }
    if target.path != "*", !target.segments.allSatisfy({ !$0.utf8.contains(0x2F) && !$0.utf8.contains(0) }) {
      return "a segment hides a slash"
    }
    let spelled = target.query.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(
      separator: "&")
    guard let again = try? RequestTarget("/?\(spelled)"), again.query == target.query else {
      return "a query is read otherwise: \(spelled)"
    }
    if let broken = checkChoices(text) { return broken }
    for parameter in target.query {
      if let broken = checkSearch(parameter.value) { return broken }
      let canonical = ReaderPassword.canonical(parameter.value)
      if ReaderPassword.canonical(canonical) != canonical {
        return "words have two forms: \(canonical.debugDescription)"
      }
      if let broken = checkAddress(parameter.value) { return broken }
    }
    switch AuthorizationRequest.read(target.query) {
    case .request(let request):
      guard (1...AuthorizationRequest.maximumClient).contains(request.client.utf8.count) else {
        return "a client of no length"
      }
      return checkAddress(request.redirect.text)
    case .refused(let error, let address, _):
      guard error.message.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) else {
        return "\(error.message)"
      }
      return checkAddress(address.text)
    case .unusable: return nil
    }
  }

  /// A reader's choices stand in the links of the feed, in both forms.
  private static func checkChoices(_ text: String) -> String? {
    let known = FeedRequest.facetQuery.union(FeedRequest.searchQuery)
    guard let request = try? HTTPRequest(method: .get, rawTarget: text),
      (try? request.requireQuery(only: known)) != nil, let asked = try? read(request)
    else { return nil }
    let words = request.queryValue("q")
    for form in FeedForm.allCases {
      let page = CatalogPage(
        words.map { .search($0) } ?? .new, after: asked.after, onlyFree: asked.onlyFree)
      let link = FeedAddresses(form: form, choice: asked.choice).address(of: page)
      guard let led = try? HTTPRequest(method: .get, rawTarget: link),
        (try? led.requireQuery(only: known)) != nil, let again = try? read(led)
      else { return "a link that cannot be followed: \(link)" }
      guard again.choice == asked.choice, again.after == asked.after, again.onlyFree == asked.onlyFree,
        again.application == asked.application, led.queryValue("q") == words
      else { return "another choice stands in \(link)" }
    }
    return nil
  }

  private static func read(_ request: HTTPRequest) throws(Problem) -> FeedRequest {
    try FeedRequest(request, territory: nil, locale: nil, priceLocales: [:])
  }

  /// A title is found by itself, and by the same text in the other form of Unicode.
  private static func checkSearch(_ text: String) -> String? {
    let decomposed = text.decomposed
    guard let product = ProductIdentifier("a.b"), decomposed.unicodeScalars.count <= SearchIndex.maximumLength
    else { return nil }
    let index = SearchIndex(titles: [(product, [text])])
    let found = index.products(matching: text)
    guard index.products(matching: decomposed) == found else {
      return "\(text.debugDescription) is found in one form of Unicode alone"
    }
    let hasWord = text.utf8.contains { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
    let isPlain = text.utf8.allSatisfy { $0 < 0x80 }
    return !isPlain || found == (hasWord ? [product] : []) ? nil : "\(text.debugDescription) finds \(found)"
  }

  private static func checkAddress(_ text: String) -> String? {
    guard let address = RedirectAddress(text) else { return nil }
    guard
      address.source.utf8.allSatisfy({
        (0x21...0x7E).contains($0) && $0 != 0x3B && $0 != 0x2C && $0 != 0x27 && $0 != 0x22
      })
    else {
      return "a policy of \(address.source.debugDescription)"
    }
    let led = address.adding([("code", "a b&c"), ("state", nil)])
    guard led.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), led.hasSuffix("code=a%20b%26c"),
      led.hasPrefix(text)
    else {
      return "a reader is led to \(led.debugDescription)"
    }
    // As Foundation reads it: the host of the device itself, or a scheme that no site has.
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased() else { return nil }
    switch scheme {
    case "http":
      return ["127.0.0.1", "[::1]", "::1"].contains(parts.host ?? "") && parts.user == nil
        ? nil : "a code goes to \(text)"
    case "https", "javascript", "data", "file", "ftp", "ws", "wss": return "a code goes to \(text)"
    default: return scheme == "opds" || scheme.contains(".") ? nil : "a code goes to \(text)"
    }
  }
}
