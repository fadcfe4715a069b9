import PullboxAPIClient
@testable import pullbox
import PullboxAPI
import Testing

@Suite("Which download is meant")
struct DownloadSelectorTests {
  private func list() throws -> [DownloadStatus] {
    [
      try Sample.download(id: "abcd1111", product: "a", .finished, "placed"),
      try Sample.download(id: "abcd2222", product: "a", .active, "transferring"),
      try Sample.download(id: "ef013333", product: "b", .failed, "integrity"),
    ]
  }

  @Test(
    "an identifier, its beginning, or a product",
    arguments: [("abcd1111", "abcd1111"), ("abcd2", "abcd2222"), ("a", "abcd2222"), ("b", "ef013333")])
  func found(text: String, id: String) throws {
    #expect(try DownloadSelector.find(text, among: try list()).id.text == id)
  }

  @Test("what is unknown, too short or ambiguous is refused", arguments: ["c", "abc", "abcd", ""])
  func refused(text: String) throws {
    let downloads = try list()
    #expect(throws: APICallError.self) { try DownloadSelector.find(text, among: downloads) }
  }
}
