import CoreTypes
import PullboxAPI
import PullboxAPIClient
import Testing

@testable import pullbox

@Suite("What is typed after a command")
struct ArgumentTests {
  @Test("a date may leave out its seconds, and never its zone")
  func dates() {
    let whole = Timestamp(rfc3339: "2026-12-24T07:00:00Z")
    #expect(Timestamp(argument: "2026-12-24T08:00+01:00") == whole)
    #expect(Timestamp(argument: "2026-12-24T07:00Z") == whole)
    #expect(Timestamp(argument: "2026-12-24T07:00:00.000Z") == whole)
    for text in ["2026-12-24T07:00", "2026-12-24", "", "2026-12-24T07:00:5Z", "2026-12-24 07:00Z"] {
      #expect(Timestamp(argument: text) == nil, "\(text)")
    }
  }

  @Test("each fault of a refusal has a line of its own")
  func faults() {
    let problem = Problem(
      .productInvalid,
      faults: [
        Problem.Fault(code: "a", path: "x", detail: "one"),
        Problem.Fault(code: "b", path: nil, detail: "two"),
      ])
    let failure = CommandFailure(
      APICallError.problem(problem), server: "http://a", agentSocket: "/a", peer: .server)
    #expect(!failure.message.contains("one"))
    #expect(failure.details == ["  x: one (a)", "  two (b)"])
  }
}
