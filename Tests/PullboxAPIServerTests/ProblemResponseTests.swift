import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Testing

@Suite("Refusals and secrets")
struct ProblemResponseTests {
  @Test("a refusal is problem+json with its status, is kept by no cache, and says when to come back")
  func fields() {
    let response = HTTPResponse.problem(Problem(.unavailable, retryAfterSeconds: 30))
    #expect(response.status == .serviceUnavailable && response.headers["Retry-After"] == "30")
    #expect(response.headers["Cache-Control"] == "no-store")
    #expect(response.problem == Problem(.unavailable, retryAfterSeconds: 30))
    #expect(HTTPResponse.problem(Problem(.notFound)).headers["Retry-After"] == nil)
  }

  @Test(
    "401 names the scheme that is asked for (docs/delivery.md), and no other status does",
    arguments: [
      (.proofMissing, "PullboxDevice"), (.renewalSecretMissing, "Bearer"), (.ticketMissing, "Bearer"),
      (.unauthorized, "Bearer"), (.proofRefused, nil), (.forbidden, nil), (.purchaseRequired, nil),
    ] as [(ProblemCode, String?)])
  func schemes(code: ProblemCode, scheme: String?) {
    #expect(HTTPResponse.problem(Problem(code)).headers["WWW-Authenticate"] == scheme)
  }

  @Test(
    "refusals that no handler makes are problem documents of their status, and 503 says when to come back")
  func serverRefusals() throws {
    var configuration = HTTPServerConfiguration(addresses: [])
    configuration.useProblemDocuments { 7 }
    let codes: [(Int, ProblemCode)] = [
      (400, .requestMalformed), (408, .requestTimeout), (413, .requestTooLarge), (414, .targetTooLong),
      (417, .requestMalformed), (431, .fieldsTooLarge), (501, .notImplemented), (503, .unavailable),
      (505, .versionNotSupported), (500, .internalError),
    ]
    for (status, code) in codes {
      let response = configuration.refusal(HTTPStatus(rawValue: status))
      let problem = try #require(response.problem, "\(status)")
      #expect(response.status.rawValue == status && problem.status == status && problem.code == code)
      #expect(response.headers["Retry-After"] == (status == 503 ? "7" : nil))
    }
  }

  @Test("JSON is kept by no cache unless its fields say otherwise")
  func json() throws {
    let plain = try HTTPResponse.json(["a": 1])
    #expect(plain.status == .ok && plain.text == #"{"a":1}"#)
    #expect(plain.headers["Content-Type"] == "application/json")
    #expect(plain.headers["Cache-Control"] == "no-store")
    let kept = try HTTPResponse.json(
      [1], status: .created, headers: ["cache-control": "max-age=60", "X": "y"])
    #expect(kept.status == .created && kept.headers["X"] == "y")
    #expect(kept.headers.values(of: "Cache-Control") == ["max-age=60"])
    #expect(throws: EncodingError.self) { try HTTPResponse.json([Double.nan]) }
  }

  @Test("a secret is known by its digest: the same text is it, another one, a part of it and none are not")
  func secrets() throws {
    let secret = SecretDigest(of: "correct horse")
    // SHA-256 of the empty text, FIPS 180-4.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(SecretDigest(of: "").digest.description == empty)
    let kept = SecretDigest(digest: secret.digest)
    #expect(kept == secret && kept.matches("correct horse"))
    for other in [nil, "", "correct", "correct horse ", "Correct horse", "correct horse\0"] as [String?] {
      #expect(!kept.matches(other), "\(other ?? "nil")")
    }
    #expect(SecretDigest(digest: try #require(SHA256Digest(hexadecimal: empty))).matches(""))
  }
}
