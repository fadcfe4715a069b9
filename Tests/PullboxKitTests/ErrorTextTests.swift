import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxOperatorKit
import Testing

/// `localizedDescription` is what an app shows; without a text of its own it names the type and a number.
@Suite struct ErrorTextTests {
  private func text(_ error: any Error) -> String { error.localizedDescription }

  @Test("a failed call says in a sentence what happened") func calls() {
    let refused = HTTPClientError(code: .connectionFailed, message: "connection refused", isRetryable: true)
    #expect(text(APICallError.unreachable(refused)) == "connection refused")
    let other = APICallError.unexpectedResponse(status: 200, detail: "no member 'id'")
    #expect(text(other) == "an answer that is not understood (status 200): no member 'id'")
    let page = APICallError.unexpectedResponse(status: 502, detail: "<html>", isPage: true)
    #expect(text(page) == "a proxy before the service does not reach it (status 502)")
    let portal = APICallError.unexpectedResponse(status: 200, detail: "<html>", isPage: true)
    #expect(
      text(portal) == "the answer is not the service's own; a proxy or another server gave it (status 200)")
    let problem = Problem(.stateConflict, "the download is finished")
    #expect(text(APICallError.problem(problem)) == problem.description)
    #expect(problem.description.contains("the download is finished"))
  }

  @Test("an event stream that is too long names its bound") func eventStreams() {
    let line = ServerSentEventParser.Refusal.lineTooLong(limit: ByteCount(4))
    #expect(text(line) == "a line of the event stream is longer than 4 bytes")
    let event = ServerSentEventParser.Refusal.eventTooLong(limit: ByteCount(5))
    #expect(text(event) == "an event of the stream has more than 5 bytes of data")
  }

  @Test("a file that is no product description is named with what is wrong") func descriptions() throws {
    let refusal = try #require(throws: ProductDescriptionFile.Refusal.self) {
      try ProductDescriptionFile(reading: #filePath)
    }
    #expect(text(refusal) == "\(#filePath):1:1: \(refusal.message)" && refusal.path == #filePath)
  }
}
