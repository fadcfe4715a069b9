import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import Testing

@Suite("What a request says")
struct RequestContractTests {
  private func request(
    _ target: String = "/", _ headers: HTTPFields = [:], body: String = ""
  ) throws -> HTTPRequest {
    try HTTPRequest(method: .post, rawTarget: target, headers: headers, body: RequestBody(Array(body.utf8)))
  }

  /// The problem that `body` throws; nil where it does not.
  private func refusal(_ body: () throws -> Void) -> Problem? {
    do {
      try body()
      return nil
    } catch {
      return error as? Problem
    }
  }

  @Test("parameters are those of the list, each once but for those that may repeat, and the fault is named")
  func parameters() throws {
    func fault(_ query: String) throws -> String? {
      let request = try request("/v1/products\(query)")
      let problem = refusal { try request.requireQuery(only: ["id", "locale"], repeatable: ["id"]) }
      #expect(problem.map { $0.code == .requestMalformed } ?? true)
      return problem?.detail
    }
    for query in ["", "?", "?id=a", "?id=a&id=b&locale=fr", "?locale=", "?i%64=a"] {
      #expect(try fault(query) == nil, "\(query)")
    }
    #expect(try fault("?locale=fr&locale=fr") == "locale occurs more than once")
    #expect(try fault("?Id=a") == "Id: there is no such parameter; there are id, locale")
    #expect(try fault("?id=a&limit=1&zebra=2")?.hasPrefix("limit: ") == true)
    #expect(try fault("?=a")?.hasPrefix(": there is no such parameter") == true)
    let bare = try request("/?a=1")
    #expect(
      refusal { try bare.requireQuery(only: []) }?.detail == "a: there is no such parameter; there are none")
  }

  @Test("a reader's name ends at the first colon, whatever the password begins with (RFC 7617)")
  func readerCredentials() throws {
    let shown = try ReaderCredentials(
      request("/", ["Authorization": "Basic \(Base64.encode(Array("Reader-1:\u{301}a:b".utf8)))"]))
    #expect(shown?.name == "reader-1" && shown?.password == "\u{301}a:b")
  }

  @Test("a number is within its range or refused, and has a value of its own where it is absent")
  func numbers() throws {
    func number(_ query: String) throws -> Int {
      try request("/?\(query)").number("limit", in: 1...200, default: 50)
    }
    for (query, expected) in [
      ("", 50), ("limit=1", 1), ("limit=200", 200), ("other=3", 50),
    ] {
      #expect(try number(query) == expected, "\(query)")
    }
    for value in [
      "0", "201", "-1", "", "1.0", "1e2", "0x10", "ten", "１", "99999999999999999999", "+", "1%20",
    ] {
      let problem = #expect(throws: Problem.self) { try number("limit=\(value)") }
      #expect(problem?.detail == "limit is a number from 1 to 200", "\(value)")
    }
  }

  @Test(
    "the credential is what stands behind its scheme, in any case and between spaces, of one field alone",
    arguments: [
      (["Bearer abc"], "abc"), (["bearer abc"], "abc"), (["BEARER  abc  "], "abc"), (["Bearer a b"], "a b"),
      ([], nil), ([""], nil), (["Bearer"], nil), (["Basic abc"], nil), (["Bearerabc"], nil), (["abc"], nil),
      (["Bearer abc", "Bearer abc"], nil), (["Basic x", "Bearer abc"], nil),
    ] as [([String], String?)])
  func credentials(values: [String], expected: String?) throws {
    var headers = HTTPFields()
    for value in values { headers.append(name: "authorization", value: value) }
    #expect(try request("/", headers).bearerToken == expected)
    #expect(try request("/", headers).credential(scheme: DeviceProof.scheme) == nil)
  }

  @Test("a field that may occur once is refused twice, also with one value")
  func onlyValues() throws {
    var headers: HTTPFields = ["X-A": "1"]
    #expect(try request("/", headers).onlyValue(of: "x-a") == "1")
    #expect(try request("/", headers).onlyValue(of: "X-B") == nil)
    headers.append(name: "x-A", value: "1")
    let twice = try request("/", headers)
    #expect(refusal { _ = try twice.onlyValue(of: "X-A") }?.code == .requestMalformed)
  }

  @Test(
    "an idempotency key is 1 to 255 visible characters, in quotation marks or without",
    arguments: [
      ("\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", "8e03978e-40d5-43dd-bc93-6894a57f9324"), ("abc", "abc"),
      ("\"a\"", "a"), ("~!#", "~!#"), ("", nil), ("\"\"", nil), ("\"", nil), ("\"abc", nil), ("a b", nil),
      ("a\"b", nil), ("a\\b", nil), ("é", nil), ("\"a\\\"b\"", nil), ("a\tb", nil),
    ] as [(String, String?)])
  func idempotencyKeys(value: String, key: String?) throws {
    let marked = try request("/", ["Idempotency-Key": value])
    if let key {
      #expect(try marked.idempotencyKey() == key)
    } else {
      #expect(refusal { _ = try marked.idempotencyKey() }?.code == .requestMalformed)
    }
  }

  @Test("a request without a key has none; one of 256 characters, or a second one, is refused")
  func idempotencyKeyBounds() throws {
    #expect(try request().idempotencyKey() == nil)
    let longest = String(repeating: "k", count: 255)
    for value in [longest, "\"\(longest)\""] {
      #expect(try request("/", ["Idempotency-Key": value]).idempotencyKey() == longest)
    }
    let tooLong = try request("/", ["Idempotency-Key": longest + "k"])
    #expect(refusal { _ = try tooLong.idempotencyKey() } != nil)
    let twice = try request("/", ["Idempotency-Key": "k", "idempotency-key": "k"])
    #expect(refusal { _ = try twice.idempotencyKey() } != nil)
  }

  @Test("a body is read as JSON up to its bound, and the member at fault is named")
  func bodies() async throws {
    let good = try request(body: #"{"percentage":10}"#)
    #expect(try await good.decode(ReleaseRequest.self).percentage == 10)
    #expect(try await good.decodeIfPresent(ReleaseRequest.self, upTo: ByteCount(17))?.percentage == 10)
    #expect(try await request().decodeIfPresent(ReleaseRequest.self) == nil)
    func problem(_ body: String, upTo limit: ByteCount = .mebibytes(1)) async throws -> Problem? {
      let request = try request(body: body)
      return await #expect(throws: Problem.self) {
        try await request.decode(ReleaseRequest.self, upTo: limit)
      }
    }
    #expect(try await problem(#"{"percentag":10}"#)?.detail == "percentag: there is no such member")
    #expect(try await problem("")?.code == .requestMalformed)
    let long = try await problem(#"{"percentage":10}"#, upTo: ByteCount(16))
    #expect(long?.code == .requestTooLarge && long?.detail == "at most 16 bytes are read here")
  }

  @Test(
    "a body with U+0000 in a text or a name is refused, read at once or where it may be empty",
    arguments: [#"{"reason":"a\u0000"}"#, #"{"reason":"a","\u0000":1}"#, "{\"reason\":\"\u{0}\"}"])
  func null(body: String) async throws {
    let request = try request(body: body)
    let detail = "the document has the character U+0000 in a text, or is not in UTF-8"
    let problem = await #expect(throws: Problem.self) { try await request.decode(ReasonBody.self) }
    #expect(problem?.code == .requestMalformed && problem?.detail == detail)
    let other = await #expect(throws: Problem.self) { try await request.decodeIfPresent(ReasonBody.self) }
    #expect(other?.detail == detail)
    // A backslash and five characters are no escape.
    let text = try self.request(body: #"{"reason":"\\u0000"}"#)
    #expect(try await text.decode(ReasonBody.self).reason == #"\u0000"#)
  }

  @Test("a body that did not arrive is refused for the reason that it did not")
  func brokenBodies() {
    let codes: [(RequestBodyError.Code, ProblemCode)] = [
      (.tooLarge, .requestTooLarge), (.timedOut, .requestTimeout), (.noRoom, .unavailable),
      (.connectionClosed, .requestMalformed), (.malformedChunk, .requestMalformed),
    ]
    for (code, expected) in codes {
      let problem = RequestBodyError(code).problem(readingUpTo: .kibibytes(1))
      #expect(problem.code == expected)
      #expect((problem.retryAfterSeconds != nil) == (expected == .unavailable))
    }
  }
}
