import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@Suite("Request shapes")
struct RequestShapeTests {
  @Test("a grant request carries its proof's members beside its own")
  func grantRequest() throws {
    let text = #"{"store":"sandbox","receipt":"MIIB","product":"com.example.a","device":{"id":"d-1"}}"#
    let request = try APIJSON.decode(GrantRequest.self, from: Array(text.utf8))
    #expect(request.proofs.all.first?.receipt == "MIIB")
    #expect(request.device.id.description == "d-1")
    #expect(request.version == nil)
    let again = try APIJSON.decode(GrantRequest.self, from: APIJSON.encode(request))
    #expect(again.proofs.all.first?.store == "sandbox")
    #expect(again.product == request.product)
  }

  @Test("what is missing is named")
  func missingMember() throws {
    let text = #"{"store":"sandbox","product":"com.example.a","device":{}}"#
    let error = #expect(throws: DecodingError.self) {
      try APIJSON.decode(GrantRequest.self, from: Array(text.utf8))
    }
    #expect(APIJSON.explain(try #require(error)) == "device.id is missing")
  }

  @Test(
    "what could not be a part of an address names no download",
    arguments: ["", "..", "a/b", "a?b", "a%2Fb", "é", "a b", String(repeating: "a", count: 65)])
  func downloadNames(text: String) {
    #expect(DownloadIdentifier(text) == nil)
  }

  @Test("an unknown time remaining is null, not absent")
  func unknownTime() throws {
    let status = DownloadStatus(
      id: try #require(DownloadIdentifier("1")), product: try #require(ProductIdentifier("a")), version: nil,
      transaction: try #require(TransactionIdentifier("2")), state: .waiting, reason: "queued",
      bytesVerified: .zero, bytesTotal: nil, bytesReceived: .zero, progress: 0, timeRemaining: nil, speed: 0,
      error: nil, contentPath: nil)
    let text = String(decoding: try APIJSON.encode(status), as: UTF8.self)
    #expect(text.contains(#""timeRemaining":null"#))
    #expect(!text.contains("contentPath"))
  }
}
