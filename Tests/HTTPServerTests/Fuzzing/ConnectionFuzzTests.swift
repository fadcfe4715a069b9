import HTTPServer
import PullboxTesting
import Testing

/// Whole connections of requests, good and broken, sent in random pieces.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionFuzzTests {
  private static let good: [(String, String)] = [
    ("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "200 GET /a []"),
    ("HEAD /b HTTP/1.1\r\nHost: h\r\n\r\n", "200 HEAD"),
    ("POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", "200 POST /c [hello]"),
    (
      "\r\nPUT /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n",
      "200 PUT /d [abc]"
    ),
    ("GET /e HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200 GET /e []"),
  ]

  @Test("whatever follows good requests, these are answered, and so is every cut of it alike")
  func connections() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("s")
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: path)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: ClosureHandler(body: VectorRunner.echo))
    try server.start()
    var mutator = Mutator(
      seed: 5,
      seeds: Self.good.map(\.0)
        + FramingVectors.all.map { String(decoding: $0.bytes.prefix(500), as: UTF8.self) },
      words: [
        "\r\n", "\n", "0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "Content-Length: 3\r\n", "\0", " ",
      ])
    do {
      for _ in 0..<300 {
        let requests = (0..<mutator.number(below: 4)).map { _ in
          Self.good[mutator.number(below: Self.good.count)]
        }
        let tail = mutator.next()
        let bytes = Array(requests.map(\.0).joined().utf8) + tail
        var cuts: [[Int]] = [[]]
        for pieces in [1, 1, 2, 3, 5, 8] {
          cuts.append((0..<pieces).map { _ in mutator.number(below: bytes.count + 1) }.sorted())
        }
        let transcripts = try await VectorRunner(path: path).runToEnd(bytes, cuts: cuts).map {
          try Transcript($0, isStrict: false).answers
        }
        let expected = requests.map(\.1)
        #expect(transcripts.allSatisfy { $0.starts(with: expected) })
        #expect(
          Set(transcripts).count == 1,
          "\(String(decoding: bytes, as: UTF8.self).debugDescription) cut at \(cuts): \(transcripts)")
      }
    } catch {
      Issue.record(error)
    }
    await server.drain()
  }
}
