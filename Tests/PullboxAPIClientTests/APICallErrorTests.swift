import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Testing

@Suite("What a service's refusal says about waiting")
struct APICallErrorTests {
  @Test(
    "the number of seconds in a problem document is brought into 1 s to a day",
    arguments: [
      (Int.min, 1), (-1, 1), (0, 1), (1, 1), (901, 901), (86_400, 86_400), (86_400_000, 86_400),
      (Int.max, 86_400),
    ])
  func problemDocument(written: Int, seconds: Int) {
    let problem = Problem(.unavailable, retryAfterSeconds: written)
    #expect(APICallError.problem(problem).retryAfter == .seconds(seconds))
    let body = Array(
      #"{"type":"about:blank","title":"-","status":503,"retryAfterSeconds":\#(written)}"#.utf8)
    guard case .problem(let parsed) = APIClient.refusal(head: ResponseHead(status: 503), body: body) else {
      Issue.record("a problem document is understood")
      return
    }
    #expect(parsed.retryAfterSeconds == seconds)
  }

  @Test("a problem document without a number has that of the field Retry-After, in the same range")
  func field() {
    let head = ResponseHead(
      status: 503, headers: ResponseFields([.init(name: "Retry-After", value: "99999999999999999999")]))
    let body = Array(#"{"type":"about:blank","title":"-","status":503}"#.utf8)
    #expect(APIClient.refusal(head: head, body: body).retryAfter == .seconds(86_400))
    #expect(APIClient.refusal(head: ResponseHead(status: 503), body: body).retryAfter == nil)
  }

  @Test("a page that is no problem document has the delay of its field Retry-After")
  func page() {
    func error(_ value: String?) -> APICallError {
      let fields = value.map { [ResponseFields.Field(name: "Retry-After", value: $0)] } ?? []
      return APIClient.refusal(
        head: ResponseHead(status: 503, headers: ResponseFields(fields)), body: Array("<html>".utf8))
    }
    #expect(error("3600").retryAfter == .seconds(3600))
    #expect(error("3600").isUnavailable)
    #expect(error(nil).retryAfter == nil)
  }
}
