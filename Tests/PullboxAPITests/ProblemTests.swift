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

  static let ofDevices: [(code: String, status: Int)] = [
    ("receipt-malformed", 400), ("receipt-not-authentic", 403), ("receipt-wrong-application", 403),
    ("receipt-wrong-environment", 403), ("purchase-required", 402), ("entitlement-expired", 403),
    ("entitlement-revoked", 403), ("device-limit", 403), ("purchase-claimed", 403), ("product-unknown", 404),
    ("version-unknown", 404),
    ("content-withdrawn", 410), ("verification-undetermined", 503), ("ticket-missing", 401),
    ("ticket-invalid", 403), ("ticket-expired", 403), ("completion-mismatch", 409),
    ("too-many-requests", 429),
  ]

  @Test("the codes that a device meets have the documented status", arguments: ofDevices)
  func statuses(code: String, status: Int) {
    #expect(ProblemCode(type: "urn:pullbox:problem:\(code)")?.status == status)
  }

  /// Clients decide by these names, and proxies by these statuses: none may change.
  static let others = """
    202 not-here-yet
    400 completion-malformed checksum-unsupported digest-mismatch request-malformed store-unknown
    401 proof-missing renewal-secret-missing unauthorized
    403 clock-skew forbidden not-permitted proof-refused receipt-needed second-key-required second-operator-required
    404 call-unknown content-unknown download-unknown grant-unknown library-item-unknown not-found preview-unknown price-tier-unknown publication-unknown section-unknown subscription-unknown \
    transaction-unknown \
    upload-unknown
    405 method-not-allowed
    408 request-timeout
    409 already-subscribed grant-ambiguous idempotency-key-in-use price-changed section-required state-conflict transaction-unpaid upload-incomplete upload-offset-mismatch version-conflict
    410 upload-expired
    412 precondition-failed upload-protocol-unsupported
    413 request-too-large upload-too-large
    414 target-too-long
    415 upload-type-unsupported
    422 catalog-invalid idempotency-key-reused package-rejected price-tier-invalid product-invalid publication-invalid
    423 upload-locked
    431 fields-too-large
    460 checksum-mismatch
    500 internal-error
    501 not-implemented
    503 catalogue-unavailable content-damaged library-offline store-unavailable unavailable
    505 version-not-supported
    507 insufficient-storage out-of-space
    """

  @Test("and so have all others", arguments: others.split(separator: "\n").map(String.init))
  func otherStatuses(line: String) throws {
    let words = line.split(separator: " ")
    let status = try #require(words.first.flatMap { Int($0) })
    for code in words.dropFirst() {
      #expect(ProblemCode(type: "urn:pullbox:problem:\(code)")?.status == status, "\(code)")
    }
  }

  @Test(
    "what is no code of this list is none",
    arguments: [
      "", "about:blank", "not-found", "urn:pullbox:problem:", "urn:pullbox:problem:Not-Found",
      "urn:pullbox:problem:not-found ", "urn:other:problem:not-found", "https://example.com/not-found",
    ])
  func noCodes(type: String) {
    #expect(ProblemCode(type: type) == nil)
  }

  @Test("a code of a newer server is read and kept, without a known code")
  func unknownCode() throws {
    let text = #"{"type":"urn:pullbox:problem:moon-phase","title":"No","status":418,"extra":[1]}"#
    let problem = try APIJSON.decode(Problem.self, from: Array(text.utf8))
    #expect(problem.code == nil)
    #expect(problem.status == 418)
  }
}
