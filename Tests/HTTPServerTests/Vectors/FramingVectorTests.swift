import HTTPServer
import HTTPTesting
import PullboxTesting
import Testing

/// Every framing vector against a real server: at once, and cut in two at every position of the run's share.
@Suite(.timeLimit(.minutes(10)))
struct FramingVectorTests {
  static let vectors = FramingVectors.all + RefusedHeads.all.map(ConnectionVector.init)

  @Test("no two vectors bear the same name")
  func names() {
    #expect(Set(Self.vectors.map(\.name)).count == Self.vectors.count)
  }

  @Test("a connection means the same however its bytes are cut", arguments: vectors)
  func everyCut(_ vector: ConnectionVector) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("s")
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: path)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: ClosureHandler(body: VectorRunner.echo))
    try server.start()
    let cuts: [Int?] = [nil] + ExhaustiveShare.environment.elements(of: vector.cuts)
    do {
      let transcripts = try await VectorRunner(path: path).play(vector, cuts: cuts)
      for (cut, transcript) in zip(cuts, transcripts) {
        #expect(transcript == vector.transcript, "cut at \(cut.map(String.init) ?? "nothing")")
      }
      if vector.bytes.count < 300 {
        #expect(try await VectorRunner(path: path).playInPieces(vector, of: 5) == vector.transcript)
      }
    } catch {
      Issue.record(error, "\(vector.name)")
    }
    await server.drain()
  }
}
