import HTTPServer
import PullboxTesting
import Testing

/// The same vectors over TLS, where bytes come as records and files leave through a buffer.
@Suite(.timeLimit(.minutes(3)))
struct SecureVectorTests {
  /// All of `bytes` in records of `length`, then the runner's own request.
  private func play(
    _ bytes: [UInt8], inRecordsOf length: Int, to server: SecureServer
  ) async throws -> Transcript {
    let connection = try await server.connect()
    for start in stride(from: 0, to: bytes.count, by: length) {
      try await connection.send(Array(bytes[start..<min(start + length, bytes.count)]))
    }
    try await connection.send(ConnectionVector.sentinel)
    var received: [UInt8] = []
    while true {
      let some = try await connection.receive(upTo: 65_536)
      if some.isEmpty { return try Transcript(received) }
      received += some
    }
  }

  @Test("a connection means the same over TLS, in records of five bytes")
  func framing() async throws {
    // Time stands still: no deadline ends a connection however slow the machine is.
    try await withSecureServer(clock: ManualMonotonicClock(), respond: VectorRunner.echo) { server in
      for vector in FramingVectorTests.vectors {
        do {
          let length = vector.bytes.count < 300 ? 5 : vector.bytes.count
          let transcript = try await play(vector.bytes, inRecordsOf: length, to: server)
          #expect(transcript.answers == vector.transcript, "\(vector.name)")
        } catch {
          Issue.record(error, "\(vector.name)")
        }
      }
    }
  }

  @Test("conditions and ranges mean the same over TLS, to both kinds of handler on one connection")
  func semantics() async throws {
    let directory = try TemporaryDirectory()
    let representation = try Representation(path: directory.path("content"))
    try await withSecureServer(
      inline: representation, clock: ManualMonotonicClock(),
      respond: { await representation.respond(to: $0) },
      { server in
        for vector in SemanticsVector.all {
          do {
            let requests = Array((vector.request("/inline") + vector.request("/async")).utf8)
            let transcript = try await play(requests, inRecordsOf: requests.count, to: server)
            let answers = try transcript.responses.map { response in
              response.body == Array(ConnectionVector.sentinelBody.utf8)
                ? "sentinel" : try Representation.summary(response, method: vector.method)
            }
            #expect(answers == [vector.answer, vector.answer, "sentinel"], "\(vector.name)")
          } catch {
            Issue.record(error, "\(vector.name)")
          }
        }
      })
  }
}
