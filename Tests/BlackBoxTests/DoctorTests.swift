import PullboxAPI
import PullboxTesting
import Testing

@Suite("The doctor's command", .timeLimit(.minutes(5)))
struct DoctorTests {
  /// Verdicts by check.
  private func verdicts(_ outcome: Executables.Outcome) throws -> [String: String] {
    let findings = try outcome.output.split(separator: "\n").map {
      try APIJSON.decode(JSONValue.self, from: Array($0.utf8))
    }
    return Dictionary(
      uniqueKeysWithValues: findings.map { ($0["check"].text ?? "", $0["verdict"].text ?? "") })
  }

  @Test("server, device and uploads of a stack that runs are well; what was stopped is named")
  func stack() async throws {
    try await Stack.with { stack in
      let well = try await stack.pullbox("doctor", "--json", "--pause", "1s")
      #expect(well.ending == .exited(0), "\(well.output)\(well.errors)")
      let checks = try verdicts(well)
      #expect(Set(checks.values) == ["ok"], "\(well.output)")
      #expect(
        Set(["agent", "library", "server", "range", "beyond-4gib", "upload-resumes"]).isSubset(
          of: checks.keys))

      // It accepts, and never answers.
      try await stack.signal(.server, 19)
      let began = ContinuousClock.now
      let silent = try await stack.pullbox("doctor", "--pause", "1s")
      #expect(ContinuousClock.now - began < .seconds(30))
      #expect(silent.ending == .exited(1))
      #expect(silent.output.contains("\nFAIL     address "), "\(silent.output)")
      try await stack.signal(.server, 18)

      try await stack.terminate(.server)
      let ill = try await stack.pullbox("doctor", "--pause", "1s")
      #expect(ill.ending == .exited(1))
      #expect(ill.output.contains("\nFAIL "))
      #expect(ill.output.contains("\nok       agent-store "))

      let alone = try await stack.pullbox(
        "doctor", "--agent-socket", "/nowhere", "--json", "http://127.0.0.1:1")
      #expect(alone.ending == .exited(1))
      #expect(try verdicts(alone) == ["address": "failure"])
      #expect(try await stack.pullbox("doctor", "--pause", "1h").ending == .exited(2))
      #expect(try await stack.pullbox("doctor", "pull.example").ending == .exited(2))
    }
  }
}
