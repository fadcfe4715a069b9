import Foundation
import PullboxAPI
import ServiceAPI
import Testing

/// JSON that the documents show is JSON that the programs read and write.
@Suite("Documented examples")
struct DocumentedExamplesTests {
  private static func document(_ name: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    return try String(contentsOf: URL(filePath: "\(root)/docs/\(name)"), encoding: .utf8)
  }

  /// The type of a body that is sent to such an address.
  private static func type(ofBodyFor command: Substring) -> String? {
    let addresses = [
      ("/release", "ReleaseRequest"), ("/versions", "VersionSubmission"),
      ("/accounts/", "AccountChange"), ("/accounts", "AccountRequest"),
      ("/store/v1/purchases", "PurchaseRequest"), ("/operator/products/", "ProductDescription"),
    ]
    return addresses.first { command.contains($0.0) }?.1
  }

  @Test(
    "the body of every curl command has the members of its type, and no other",
    arguments: [("running.md", 2), ("sandbox-store.md", 2)])
  func curl(document: String, count: Int) throws {
    let text = try Self.document(document).replacing("\\\n", with: " ")
    var checked = 0
    for command in text.split(separator: "\n") where command.contains("curl ") {
      guard let body = command.firstMatch(of: /-d '(\{.*?\})'/)?.1 else { continue }
      let type = try #require(Self.type(ofBodyFor: command), "\(command)")
      let sample = try #require(WireSample.all.first { $0.name == type })
      let written = try sample.rewrite(String(body))
      #expect(try JSONText.members(written).keys == JSONText.members(String(body)).keys, "\(command)")
      checked += 1
    }
    #expect(checked >= count)
  }

  @Test("the list of uploads is shown as it is written")
  func uploads() throws {
    let lines = try Self.document("uploading.md").split(separator: "\n")
    let shown = try #require(lines.first { $0.hasPrefix(#"{"created":"#) })
    let sample = try #require(WireSample.all.first { $0.name == "UploadRecord" })
    #expect(try sample.rewrite(String(shown)) == shown)
  }
}
