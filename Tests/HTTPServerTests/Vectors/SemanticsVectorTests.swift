import HTTPServer
import PullboxTesting
import Testing

/// Conditions and ranges, and the connection after every status, against a real server: at once, and cut at
/// every position.
@Suite(.timeLimit(.minutes(10)))
struct SemanticsVectorTests {
  private func answers(
    _ vector: ConnectionVector, everyCut: Int = 1, _ read: (Transcript.Response) throws -> String
  ) async throws -> [[String]] {
    let directory = try TemporaryDirectory()
    let path = directory.path("s")
    let representation = try Representation(path: directory.path("content"))
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: path)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, inline: representation, handler: representation)
    try server.start()
    do {
      let answers = try await VectorRunner(path: path).run(
        vector, cuts: [nil] + vector.cuts.filter { $0 % everyCut == 0 }
      ).map { bytes in
        try Transcript(bytes).responses.map(read)
      }
      await server.drain()
      return answers
    } catch {
      await server.drain()
      throw error
    }
  }

  @Test("no two vectors bear the same name")
  func names() {
    #expect(Set(SemanticsVector.all.map(\.name)).count == SemanticsVector.all.count)
  }

  @Test(
    "conditions and ranges mean what RFC 9110 says, to both kinds of handler", arguments: SemanticsVector.all)
  func semantics(_ vector: SemanticsVector) async throws {
    for path in ["/inline", "/async"] {
      let connection = ConnectionVector(vector.name, text: vector.request(path), answers: [])
      let transcripts = try await answers(connection) { response in
        response.body == Array(ConnectionVector.sentinelBody.utf8)
          ? "sentinel" : try Representation.summary(response, method: vector.method)
      }
      #expect(Set(transcripts) == [[vector.answer, "sentinel"]], "\(path)")
    }
  }

  static let statuses = [
    200, 201, 202, 204, 206, 301, 303, 304, 307, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412,
    413, 415,
    416, 417, 421, 422, 428, 429, 431, 460, 500, 501, 502, 503, 504, 507,
  ]

  @Test("a connection goes on after every status that a handler answers", arguments: statuses)
  func everyStatus(_ status: Int) async throws {
    for path in ["/inline", "/async"] {
      for method in ["GET", "HEAD"] {
        let request = "\(method) \(path)/\(status) HTTP/1.1\r\nHost: h\r\n\r\n"
        let old = "\(method) \(path)/\(status) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        let connection = ConnectionVector("\(status)", text: request + old + request, answers: [])
        let transcripts = try await answers(connection, everyCut: 7) { "\($0.status)" }
        #expect(Set(transcripts) == [["\(status)", "\(status)", "\(status)", "200"]], "\(method) \(path)")
      }
    }
  }
}
