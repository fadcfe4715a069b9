import PullboxOperatorKit
import Testing

/// The file of an operator's tool: it imports the operators' kit and nothing else of ours. That it compiles is most of the test.
@Suite struct SingleOperatorImportTests {
  @Test("the names of an operator's tool come with one import") func operatorNames() throws {
    var client = try OperatorClient(server: "http://127.0.0.1:1", key: nil)
    client.unavailabilityRetry = UnavailabilityRetry(limit: .seconds(1), clock: SystemMonotonicClock())
    var uploader = client.uploader(resumeFile: nil)
    uploader.backoff = Backoff(initial: .milliseconds(1), jitter: 0)
    uploader.partLength = .mebibytes(8)
    let version: ContentVersion? = ContentVersion("1.2")
    let key: SigningKey = SigningKey()
    #expect(version?.description == "1.2" && key.seed.count == 32)
    let manifest: (Manifest) -> SHA256Digest = \.manifestDigest
    let problem: (Problem) -> ProblemCode? = \.code
    _ = (manifest, problem)
  }
}
