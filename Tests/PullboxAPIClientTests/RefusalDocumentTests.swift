import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Testing

/// RFC 9457 §3 and §3.1.
@Suite("Refusals by other servers")
struct RefusalDocumentTests {
  private func refusal(status: Int, mediaType: String?, _ body: String) -> APICallError {
    let fields = mediaType.map { [ResponseFields.Field(name: "content-type", value: $0)] } ?? []
    let head = ResponseHead(status: status, headers: ResponseFields(fields))
    return APIClient.refusal(head: head, body: Array(body.utf8))
  }

  private func problem(status: Int, mediaType: String?, _ body: String) -> Problem? {
    guard case .problem(let problem) = refusal(status: status, mediaType: mediaType, body) else { return nil }
    return problem
  }

  @Test(
    "a problem document needs no member where its media type declares it, in whatever case and with parameters",
    arguments: [
      "application/problem+json", "Application/Problem+JSON", "application/problem+json; charset=utf-8",
      "application/problem+json ;charset=utf-8",
    ])
  func declared(mediaType: String) throws {
    let empty = try #require(problem(status: 503, mediaType: mediaType, "{}"))
    #expect(empty.type == "about:blank" && empty.title == "Service Unavailable" && empty.status == 503)
    let told = try #require(problem(status: 403, mediaType: mediaType, #"{"detail":"no credit"}"#))
    #expect(told.description == "Forbidden: no credit")
  }

  @Test(
    "JSON of another media type is a problem document with a status, and a type or a title",
    arguments: [nil, "application/json", "text/problem+json", "application/problem+xml"])
  func undeclared(mediaType: String?) throws {
    let titled = try #require(problem(status: 503, mediaType: mediaType, #"{"title":"-","status":503}"#))
    #expect(titled.type == "about:blank" && titled.title == "-")
    let typed = try #require(
      problem(status: 404, mediaType: mediaType, #"{"type":"about:blank","status":404}"#))
    #expect(typed.title == "Not Found")
    #expect(problem(status: 404, mediaType: mediaType, #"{"error":"Not Found","status":404}"#) == nil)
  }

  @Test("a page is none, whatever its media type says")
  func page() {
    let error = refusal(status: 502, mediaType: "application/problem+json", "<html>")
    guard case .unexpectedResponse(let status, _, _, let isPage) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(status == 502 && isPage)
  }
}
