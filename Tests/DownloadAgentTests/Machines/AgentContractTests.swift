import HTTPClient
import PullboxTesting
import Testing

/// The check that `AgentHarness.ask(_:_:_:headers:)` makes of every answer.
@Suite("Answers and docs/agent.openapi.yaml") struct AgentContractTests {
  private func faults(
    _ method: String, _ target: String, _ status: Int, _ type: String, _ body: String
  ) throws -> [String] {
    let head = ResponseHead(
      status: status, headers: ResponseFields([.init(name: "Content-Type", value: type)]))
    return try AgentContract().faults(
      of: ClientResponse(head: head, body: Array(body.utf8)), to: method, target)
  }

  private static let files =
    #"{"product":"com.example.a","version":"1.0","placed":true,"length":4,"files":[{"path":"a","length":4,"digest":"\#(String(repeating: "0", count: 64))","verified":[{"offset":0,"length":4}]}]}"#

  @Test("an answer as the document has it has no fault")
  func right() throws {
    let json = "application/json"
    #expect(try faults("GET", "/v1/library/com.example.a/files?wait=0", 200, json, Self.files) == [])
    #expect(try faults("HEAD", "/v1/library/com.example.a/files", 200, json, "") == [])
    #expect(try faults("GET", "/v1/downloads/x/files/fr/001.jpg", 206, "image/jpeg", "four") == [])
    #expect(try faults("DELETE", "/v1/library/com.example.a", 204, "", "") == [])
    let problem =
      #"{"type":"urn:pullbox:problem:download-unknown","title":"There is no such download","status":404}"#
    #expect(try faults("GET", "/v1/downloads/x", 404, "application/problem+json", problem) == [])
  }

  @Test("a member, a status, a type and a code that the document does not have are told by their names")
  func wrong() throws {
    let (json, path) = ("application/json", "/v1/library/com.example.a/files")
    func found(_ old: String, _ new: String) throws -> [String] {
      try faults("GET", path, 200, json, Self.files.replacing(old, with: new))
    }
    #expect(try found(#""placed":true,"#, "") == ["$.placed: missing"])
    #expect(try found(#""placed":true"#, #""placed":true,"placedAt":1"#) == ["$.placedAt: unknown"])
    #expect(try found(#""path":"a""#, #""path":7"#) == ["$.files[0].path: no string"])
    #expect(
      try found(#""offset":0"#, #""offset":-1"#) == ["$.files[0].verified[0].offset: -1.0 is out of range"])
    #expect(try faults("GET", path, 201, json, Self.files) == ["the status 201 is not announced"])
    #expect(try faults("GET", path, 200, "text/html", "<p>") == ["text/html of 3 bytes is not announced"])
    #expect(
      try faults("PUT", "/v1/none", 200, json, "{}") == ["PUT /v1/none is no operation of the document"])
    let problem = #"{"type":"urn:pullbox:problem:price-changed","title":"The price is another","status":409}"#
    #expect(
      try faults("GET", "/v1/downloads/x", 409, "application/problem+json", problem)
        == ["$.type: price-changed is not announced"])
    #expect(
      try faults("GET", "/v1/downloads/x", 404, "application/problem+json", problem)
        == ["$.status: not that of the answer"])
  }
}
