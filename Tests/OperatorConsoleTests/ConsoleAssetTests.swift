import HTTPServer
import Testing

@testable import OperatorConsole

@Suite("Files of the console's pages")
struct ConsoleAssetTests {
  private func answer(_ asset: ConsoleAsset, _ headers: HTTPFields) throws -> HTTPResponse {
    let request = try HTTPRequest(method: .get, rawTarget: asset.address.text, headers: headers)
    return asset.response(to: request, digest: asset.address.segments[2])
  }

  @Test("a browser that accepts gzip gets fewer bytes under a tag of their own, and 304 for it")
  func compressed() throws {
    for asset in [ConsoleAsset.style, .script] {
      let plain = try answer(asset, [:])
      let small = try answer(asset, ["Accept-Encoding": "br, gzip"])
      #expect(plain.headers["Content-Encoding"] == nil)
      #expect(small.headers["Content-Encoding"] == "gzip")
      #expect(plain.headers["Vary"] == "Accept-Encoding" && small.headers["Vary"] == "Accept-Encoding")
      guard case .bytes(let all) = plain.body, case .bytes(let few) = small.body else {
        Issue.record("no bytes")
        continue
      }
      #expect(few.count < all.count / 2)
      let tag = try #require(small.headers["ETag"])
      #expect(tag != plain.headers["ETag"])
      #expect(try answer(asset, ["Accept-Encoding": "gzip", "If-None-Match": tag]).status == .notModified)
      #expect(try answer(asset, ["If-None-Match": tag]).status == .ok)
    }
  }
}
