import PullboxAPI
import Testing

@Suite("Problem documents")
struct ProblemTests {
  @Test("a problem names its code as a URN and repeats its status")
  func encoding() throws {
    let problem = Problem(.completionMismatch, "no bytes were sent", missingStep: .delivery)
    let text = String(decoding: try APIJSON.encode(problem), as: UTF8.self)
    #expect(
      text == """
        {"detail":"no bytes were sent","missingStep":"delivery","status":409,\
        "title":"The completion does not match what was granted and delivered",\
        "type":"urn:pullbox:problem:completion-mismatch"}
        """)
  }

  @Test(
    "the codes that a device meets have the documented status",
    arguments: [
      ("receipt-malformed", 400), ("receipt-not-authentic", 403), ("receipt-wrong-application", 403),
      ("receipt-wrong-environment", 403), ("purchase-required", 402), ("entitlement-expired", 403),
      ("entitlement-revoked", 403), ("device-limit", 403), ("product-unknown", 404), ("version-unknown", 404),
      ("content-withdrawn", 410), ("verification-undetermined", 503), ("ticket-missing", 401),
      ("ticket-invalid", 403), ("ticket-expired", 403), ("completion-mismatch", 409),
      ("too-many-requests", 429),
    ])
  func statuses(code: String, status: Int) {
    #expect(ProblemCode(type: "urn:pullbox:problem:\(code)")?.status == status)
  }

  @Test("a code of a newer server is read and kept, without a known code")
  func unknownCode() throws {
    let text = #"{"type":"urn:pullbox:problem:moon-phase","title":"No","status":418,"extra":[1]}"#
    let problem = try APIJSON.decode(Problem.self, from: Array(text.utf8))
    #expect(problem.code == nil)
    #expect(problem.status == 418)
  }
}
