import CoreTypes
import PullboxAPI
import Testing

/// Expected values from RFC 9457 §3, §3.1 and §4.2.1; the phrases are those of RFC 9110 §15 and of the IANA's registry.
@Suite("Problem documents of other servers")
struct ProblemReadingTests {
  private func read(_ text: String, status: Int, isDeclared: Bool = true) -> Problem? {
    Problem(document: Array(text.utf8), status: status, isDeclared: isDeclared)
  }

  @Test("the first example of RFC 9457, which has no status, has that of its response")
  func example() throws {
    let text = """
      {
       "type": "https://example.com/probs/out-of-credit",
       "title": "You do not have enough credit.",
       "detail": "Your current balance is 30, but that costs 50.",
       "instance": "/account/12345/msgs/abc",
       "balance": 30,
       "accounts": ["/account/12345",
                    "/account/67890"]
      }
      """
    let problem = try #require(read(text, status: 403))
    #expect(problem.type == "https://example.com/probs/out-of-credit")
    #expect(problem.title == "You do not have enough credit.")
    #expect(problem.status == 403)
    #expect(problem.detail == "Your current balance is 30, but that costs 50.")
    #expect(problem.instance == "/account/12345/msgs/abc")
    #expect(problem.code == nil)
  }

  @Test("a document without a type is of the type about:blank, whose title is the phrase of the status")
  func noType() throws {
    let blank = try #require(read(#"{"title":"No","status":403,"detail":"why"}"#, status: 403))
    #expect(blank.type == "about:blank" && blank.title == "No" && blank.detail == "why")
    let untitled = try #require(read(#"{"type":"about:blank","status":404}"#, status: 404))
    #expect(untitled.type == "about:blank" && untitled.title == "Not Found")
    let empty = try #require(read("{}", status: 503))
    #expect(empty.type == "about:blank" && empty.title == "Service Unavailable" && empty.status == 503)
    #expect(empty.code == nil && empty.description == "Service Unavailable")
  }

  @Test(
    "a document without a title has the phrase of its status, also of codes that proxies answer with",
    arguments: [
      (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"),
      (407, "Proxy Authentication Required"), (413, "Content Too Large"), (416, "Range Not Satisfiable"),
      (421, "Misdirected Request"), (422, "Unprocessable Content"), (425, "Too Early"),
      (429, "Too Many Requests"), (431, "Request Header Fields Too Large"),
      (451, "Unavailable For Legal Reasons"), (500, "Internal Server Error"), (502, "Bad Gateway"),
      (503, "Service Unavailable"), (504, "Gateway Timeout"), (511, "Network Authentication Required"),
    ])
  func phrases(status: Int, phrase: String) throws {
    let text = #"{"type":"https://example.com/probs/x","status":\#(status)}"#
    #expect(try #require(read(text, status: status)).title == phrase)
    #expect(try #require(read("{}", status: status)).title == phrase)
  }

  @Test("a status without a phrase leaves the title empty, and stands in its place for people")
  func noPhrase() throws {
    let problem = try #require(read(#"{"detail":"no credit"}"#, status: 599))
    #expect(problem.title.isEmpty && problem.status == 599)
    #expect(problem.description == "status 599: no credit")
    #expect(try #require(read("{}", status: 599)).description == "status 599")
  }

  @Test("a member of another kind than its own counts as absent, and the others are read")
  func otherKinds() throws {
    let text = """
      {"type":1,"title":["No"],"status":"403","detail":{"a":1},"instance":null,"missingStep":true,\
      "retryAfterSeconds":"5","expectedOffset":0.5,"serverTime":"now","expiresDate":7,"approval":"1","faults":[{"code":1}]}
      """
    let problem = try #require(read(text, status: 409))
    var expected = Problem(.stateConflict)
    expected.type = "about:blank"
    expected.title = "Conflict"
    #expect(problem == expected)
    let partly = try #require(read(#"{"type":7,"detail":"why","retryAfterSeconds":5}"#, status: 503))
    #expect(partly.detail == "why" && partly.retryAfterSeconds == 5 && partly.type == "about:blank")
  }

  @Test(
    "a document of this contract is read with all that it says, declared or not", arguments: [true, false])
  func ours(isDeclared: Bool) throws {
    let moment = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
    let problem = Problem(
      .completionMismatch, "why", missingStep: .digest, retryAfterSeconds: 7, expectedOffset: 1 << 53,
      serverTime: moment, expiresDate: moment, approval: 17,
      faults: [.init(code: "a", path: "b", detail: "c")])
    let read = Problem(document: try APIJSON.encode(problem), status: 409, isDeclared: isDeclared)
    #expect(read == problem)
  }

  @Test("the status in the document comes before the response's, but for a number that is no status")
  func status() throws {
    let problem = try #require(read(#"{"status":404}"#, status: 502))
    #expect(problem.status == 404 && problem.title == "Not Found")
    for number in ["0", "99", "600", "-404", "9007199254740993"] {
      let problem = try #require(read(#"{"status":\#(number)}"#, status: 502))
      #expect(problem.status == 502 && problem.title == "Bad Gateway", "\(number)")
      #expect(read(#"{"title":"-","status":\#(number)}"#, status: 502, isDeclared: false) == nil, "\(number)")
    }
  }

  @Test(
    "JSON that is not declared as a problem document is one with a status, and a type or a title",
    arguments: [
      (#"{"type":"about:blank","title":"-","status":503}"#, true), (#"{"title":"-","status":503}"#, true),
      (#"{"type":"about:blank","status":503}"#, true), (#"{"status":503}"#, false), ("{}", false),
      (#"{"type":"about:blank","title":"-"}"#, false), (#"{"title":"-","detail":"why"}"#, false),
      (#"{"timestamp":1,"status":404,"error":"Not Found","path":"/"}"#, false),
      (#"{"error":{"code":404,"message":"gone"}}"#, false), (#"{"title":1,"status":503}"#, false),
    ])
  func undeclared(text: String, isProblem: Bool) {
    #expect((read(text, status: 503, isDeclared: false) != nil) == isProblem)
    #expect(read(text, status: 503) != nil)
  }

  @Test(
    "a body that is no JSON object is no problem document, declared or not",
    arguments: ["", "null", "[]", "\"about:blank\"", "404", "<html>", "{", "{}{}"])
  func noObject(text: String) {
    #expect(read(text, status: 404) == nil)
    #expect(read(text, status: 404, isDeclared: false) == nil)
  }
}
