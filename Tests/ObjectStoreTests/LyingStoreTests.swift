import CoreTypes
import Crypto
import HTTPClient
import PullboxTesting
import Testing

@testable import ObjectStore

/// Answers that are none of S3's: each is an error, no byte of one reaches a receiver, and nothing is unbounded.
@Suite(.timeLimit(.minutes(2)))
struct LyingStoreTests {
  private let key = ObjectKey("a")

  /// Asks for bytes 10 to 14 of an object.
  private func getRange(
    _ steps: [ScriptedPeer.Step], within limit: Duration = .patience, silence: Duration = .seconds(15)
  ) async throws -> (error: ObjectStoreError?, received: String) {
    var configuration = ObjectStoreConfiguration()
    configuration.readSilence = silence
    return try await withStore([[.readRequest] + steps], configuration: configuration) { store, _ in
      // An endless body fails a test, and does not fill the memory.
      let receiver = RecordingObjectReceiver { $0 > 100 ? .stop : .consumed }
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.get(key, range: 10..<15, within: limit, to: receiver)
      }
      return (error, receiver.text)
    }
  }

  @Test(
    "a range that is not the one asked for is refused before a byte of it",
    arguments: [
      answer("200 OK", body: "klmno"),
      answer("206 Partial Content", body: "klmno"),
      answer("206 Partial Content", fields: ["Content-Range: bytes 0-4/20"], body: "klmno"),
      answer("206 Partial Content", fields: ["Content-Range: bytes 10-15/20"], body: "klmnop"),
      answer("206 Partial Content", fields: ["Content-Range: bytes 10-14/*"], body: "klmno"),
      answer("206 Partial Content", fields: ["Content-Range: bytes */20"], body: "klmno"),
      answer("206 Partial Content", fields: ["Content-Range: items 10-14/20"], body: "klmno"),
      answer("206 Partial Content", fields: ["Content-Range: bytes 10-14/20"], body: "klmn"),
      answer("206 Partial Content", fields: ["Content-Range: bytes 10-14/20"], body: "klmnop"),
      answer(
        "206 Partial Content", fields: ["Content-Range: bytes 10-14/20", "Content-Range: bytes 0-4/20"],
        body: "klmno"),
      answer(
        "206 Partial Content", fields: ["Content-Type: multipart/byteranges; boundary=a"], body: "--a--"),
      answer("204 No Content"),
      .send(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 10-14/20\r\nConnection: close\r\n\r\nklmno"),
    ])
  func wrongRange(step: ScriptedPeer.Step) async throws {
    let (error, received) = try await getRange([step])
    #expect(error?.code == .malformedAnswer)
    #expect(error?.isRetryable == true)
    #expect(received == "")
  }

  private let chunked =
    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 10-14/20\r\nContent-Length: 5\r\n"
    + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"

  @Test("a body that ends before its promise is refused")
  func shorter() async throws {
    let (error, received) = try await getRange([.send(chunked + "3\r\nklm\r\n0\r\n\r\n")])
    #expect(error?.code == .malformedAnswer)
    #expect(received == "klm")
  }

  @Test("a body that goes on behind its promise is cut off, and no byte of the excess is handed on")
  func longer() async throws {
    let (error, received) = try await getRange([
      .send(chunked + "5\r\nklmno\r\n"),
      .sendEndlessly("1000\r\n" + String(repeating: "p", count: 4096) + "\r\n"),
    ])
    #expect(error?.code == .malformedAnswer)
    #expect(["", "klmno"].contains(received))
  }

  @Test("a body that is announced whole is not read when a part was asked for")
  func wholeInstead() async throws {
    let (error, _) = try await getRange([
      answer("200 OK", length: 1 << 40), .sendEndlessly(String(repeating: "p", count: 65_536)),
    ])
    #expect(error?.code == .malformedAnswer)
  }

  @Test("the body of an answer that is wrong is not waited for")
  func silentBody() async throws {
    let (error, _) = try await getRange(
      [answer("200 OK", length: 20), .untilClosed], within: .seconds(3600), silence: .seconds(3600))
    #expect(error?.code == .malformedAnswer)
  }

  @Test("a whole object without a length is refused, since its end could not be told from a cut")
  func noLength() async throws {
    try await withStore([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")],
      [.readRequest, .send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")],
    ]) { store, _ in
      let read = await failure { () async throws(ObjectStoreError) in
        try await store.bytes(of: key, upTo: ByteCount(10), within: .patience)
      }
      #expect(read?.code == .malformedAnswer)
      let head = await failure { () async throws(ObjectStoreError) in
        try await store.head(key, within: .patience)
      }
      #expect(head?.code == .malformedAnswer)
    }
  }

  @Test("an explanation without an end is not waited for")
  func endlessRefusal() async throws {
    let (error, _) = try await getRange([
      .send("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n<Error>"),
      .sendEndlessly(String(repeating: "<a/>", count: 16_384)),
    ])
    #expect(error?.code == .denied)
  }

  @Test("a store that asks for patience without an end to its page is asked again")
  func endlessPatience() async throws {
    let clocks = ManualClocks()
    try await withStore(
      [
        [
          .readRequest, .send("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n"),
          .sendEndlessly(String(repeating: "patience ", count: 4096)),
        ], [.readRequest, answer("200 OK")],
      ], clocks: clocks
    ) { store, peer in
      async let error = failure { () async throws(ObjectStoreError) in
        try await store.put(key, from: .bytes([]), digest: .of([]), within: .patience)
      }
      await clocks.clock.waitForSleepers()
      clocks.clock.advance(by: .seconds(5))
      #expect(await error == nil)
    }
  }

  @Test("a list of 100 MB is not read, whether its length is told or not", arguments: [true, false])
  func endlessList(isTold: Bool) async throws {
    let head =
      isTold
      ? "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n<ListBucketResult>"
      : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<ListBucketResult>"
    try await withStore([
      [.readRequest, .send(head), .sendEndlessly(String(repeating: "<Contents/>", count: 4096))]
    ]) { store, peer in
      let error = await failure { () async throws(ObjectStoreError) in try await store.list(within: .patience)
      }
      #expect(error?.code == .malformedAnswer)
      #expect(peer.connections == 1)
    }
  }

  @Test("a head without an end is refused")
  func endlessHead() async throws {
    let (error, _) = try await getRange([
      .send("HTTP/1.1 206 Partial Content\r\n"), .sendEndlessly("X-Field: value\r\n"),
    ])
    #expect(error?.code == .malformedAnswer)
  }

  @Test("what is not HTTP is refused")
  func otherProtocol() async throws {
    let (error, _) = try await getRange([.send("SSH-2.0-OpenSSH\r\n")])
    #expect(error?.code == .malformedAnswer)
  }

  @Test("a store that never answers ends the call with its time")
  func silence() async throws {
    let (error, _) = try await getRange([.untilClosed], within: .milliseconds(50))
    #expect(error?.code == .timedOut)
  }

  @Test("a store that falls silent within a body ends the call with its time")
  func silenceWithin() async throws {
    let (error, _) = try await getRange(
      [
        answer("206 Partial Content", fields: ["Content-Range: bytes 10-14/20"], body: "kl", length: 5),
        .untilClosed,
      ], within: .milliseconds(200))
    #expect(error?.code == .timedOut)
  }

  @Test("a page of another server says nothing of the object")
  func otherServer() async throws {
    let (error, _) = try await getRange([
      answer("404 Not Found", body: "<html><body>Not Found</body></html>")
    ])
    #expect(error?.code == .malformedAnswer)
    #expect(error?.message.contains("endpoint") == true)
  }

  @Test("a redirect is never followed, and told")
  func redirect() async throws {
    let (error, _) = try await getRange([
      answer("301 Moved Permanently", fields: ["Location: https://store.example/\u{1B}[31m"])
    ])
    #expect(error?.code == .malformedAnswer)
    #expect(error?.message == "the endpoint leads elsewhere to https://store.example/[31m (301)")
  }
}

/// The words by which stores refuse: Amazon's list of error codes, and what Ceph RGW and OpenStack Swift were seen to answer.
struct RefusalTests {
  private func meaning(
    _ status: Int, _ code: String?, rest: String = "", fields: [(String, String)] = [], method: String = "GET"
  ) -> ObjectStoreError {
    let body =
      code.map { "<?xml version='1.0' encoding='UTF-8'?><Error><Code>\($0)</Code>\(rest)</Error>" } ?? rest
    let headers = ResponseFields(fields.map { .init(name: $0.0, value: $0.1) })
    return TryFailure(
      ResponseHead(status: status, headers: headers), body: Array(body.utf8), method: method
    ).error
  }

  @Test(
    "S3's words have their meaning, whatever the status",
    arguments: [
      ("NoSuchKey", ObjectStoreError.Code.notFound), ("NoSuchBucket", .noSuchBucket),
      ("AccessDenied", .denied),
      ("InvalidAccessKeyId", .denied), ("SignatureDoesNotMatch", .denied), ("ExpiredToken", .denied),
      ("XAmzContentSHA256Mismatch", .digestMismatch), ("BadDigest", .digestMismatch),
      ("EntityTooLarge", .tooLarge),
      ("InvalidRange", .outOfRange), ("QuotaExceeded", .outOfSpace), ("SlowDown", .unavailable),
      ("RequestTimeout", .unavailable), ("InternalError", .unavailable),
      ("RequestTimeTooSkewed", .clockSkewed),
      ("PermanentRedirect", .wrongRegion), ("TemporaryRedirect", .wrongRegion),
      ("InvalidBucketName", .refused),
    ])
  func words(word: String, code: ObjectStoreError.Code) {
    let error = meaning(400, word)
    #expect(error.code == code)
    #expect(error.storeCode == word)
    #expect(error.status == 400)
    #expect(error.message.hasSuffix("(400 \(word))"))
  }

  @Test(
    "without a word the status counts",
    arguments: [
      (400, "GET", ObjectStoreError.Code.refused), (401, "GET", .denied), (403, "PUT", .denied),
      (404, "HEAD", .malformedAnswer),
      (404, "GET", .malformedAnswer), (404, "PUT", .malformedAnswer), (413, "PUT", .tooLarge),
      (416, "GET", .outOfRange),
      (429, "GET", .unavailable), (500, "GET", .unavailable), (501, "PUT", .refused),
      (503, "GET", .unavailable),
      (507, "PUT", .outOfSpace), (520, "GET", .unavailable), (302, "GET", .malformedAnswer),
      (205, "GET", .malformedAnswer),
    ])
  func statuses(status: Int, method: String, code: ObjectStoreError.Code) {
    #expect(meaning(status, nil, rest: "<html><body>Error</body></html>", method: method).code == code)
    #expect(meaning(status, nil, method: method).code == code)
  }

  @Test("nothing is there only where a store of S3 says so: a proxy that has lost its store knows no names")
  func missing() {
    #expect(meaning(404, nil, fields: [("X-Amz-Request-Id", "1")], method: "HEAD").code == .notFound)
    #expect(meaning(404, nil, fields: [("Server", "nginx")], method: "HEAD").code == .malformedAnswer)
    #expect(meaning(404, nil, fields: [("x-amz-request-id", "1")], method: "GET").code == .malformedAnswer)
  }

  @Test("the right region is told, from the document or from its field")
  func region() {
    let rest = "<Message>the region 'a' is wrong; expecting 'eu-west-1'</Message><Region>eu-west-1</Region>"
    let document = meaning(400, "AuthorizationHeaderMalformed", rest: rest)
    #expect(document.code == .wrongRegion)
    #expect(document.region == "eu-west-1")
    #expect(document.message.hasPrefix("the bucket lies in the region eu-west-1 (400"))
    let field = meaning(301, nil, fields: [("x-amz-bucket-region", "eu-west-1")], method: "HEAD")
    #expect(field.code == .wrongRegion)
    #expect(field.region == "eu-west-1")
    #expect(meaning(400, "AuthorizationHeaderMalformed").code == .refused)
    #expect(meaning(403, "AccessDenied", fields: [("x-amz-bucket-region", "eu-west-1")]).region == nil)
  }

  @Test("the store's own sentence is told on one line, in its first 300 characters")
  func message() {
    let error = meaning(403, "AccessDenied", rest: "<Message>no\n&#27;[31m way</Message>")
    #expect(error.message == "the key may not do this in the bucket (403 AccessDenied): no [31m way")
    let long = meaning(403, "AccessDenied", rest: "<Message>\(String(repeating: "a", count: 1000))</Message>")
    #expect(long.message.hasSuffix(": " + String(repeating: "a", count: 300)))
    // RGW's is always empty.
    #expect(meaning(403, "AccessDenied", rest: "<Message></Message>").message.hasSuffix("(403 AccessDenied)"))
  }

  @Test(
    "what is no word, or half of a document, is passed over",
    arguments: [
      "<Error><Code>NoSuchKey</Code>", "<Error><Code>No such key!</Code></Error>", "<Code>NoSuchKey</Code>",
      "<Error><Inner><Code>NoSuchKey</Code></Inner></Error>",
      "<!DOCTYPE a><Error><Code>NoSuchKey</Code></Error>",
    ])
  func noWord(body: String) {
    let error = meaning(400, nil, rest: body)
    #expect(error.storeCode == nil)
    #expect(error.code == .refused)
  }

  @Test("an error's description is its code and its sentence")
  func description() {
    #expect(
      "\(ObjectStoreError(code: .notFound, message: "there is no such object"))"
        == "notFound: there is no such object")
  }

  @Test("a full store is told as one, and what would fail again as nothing that passes")
  func temporaryFailures() {
    #expect(meaning(507, nil, method: "PUT").temporaryFailure == .outOfSpace)
    #expect(meaning(503, "SlowDown").temporaryFailure == .storage)
    #expect(meaning(403, "AccessDenied").temporaryFailure == nil)
    #expect(meaning(404, "NoSuchKey").temporaryFailure == nil)
  }
}
