import PullboxAPI
import PullboxDoctor
import ServiceAPI
import ServiceRuntime
import Testing

@testable import pullbox

@Suite("What the doctor prints and ends with")
struct DoctorCommandTests {
  private let coded = Finding("content-coding", .failure, "packages are compressed", cause: .contentCoded)

  @Test("the line of the proxy that names itself is shown, and of all where none does")
  func lines() {
    let ok = Finding("range", .ok, "206")
    #expect(FindingText.lines(ok, proxy: .nginx) == ["ok       range             206"])
    #expect(
      FindingText.lines(coded, proxy: .nginx) == [
        "FAIL     content-coding    packages are compressed",
        "         ranges count the bytes that the server sent", "         nginx: gzip off;",
      ])
    let all = FindingText.lines(coded, proxy: nil).dropFirst(2).map { $0.split(separator: ":")[0] }
    #expect(all == ["         nginx", "         Apache", "         HAProxy", "         Caddy"])
  }

  @Test("an address that holds a user or a password is refused, and not repeated")
  func passwords() throws {
    for text in ["http://u:secret@pull.example", "https://u@pull.example", "ftp://u:secret@pull.example"] {
      let error = try #require(throws: UsageError.self) { try DoctorCommand.url(text) }
      #expect(!error.description.contains("pull.example:") && !error.description.contains("secret"))
    }
    #expect(try DoctorCommand.url("https://pull.example") == "https://pull.example")
  }

  @Test("a body rests for as long as the server lets it, and no longer")
  func pauses() throws {
    #expect(try DoctorCommand.pause("3m") == .seconds(DiagnosticContent.maximumPause))
    #expect(throws: UsageError.self) { try DoctorCommand.pause("181s") }
    #expect(throws: UsageError.self) { try DoctorCommand.pause("500ms") }
  }

  @Test("it ends with 1 for what is wrong, with 4 for what is not known, and with 0 otherwise")
  func exitCodes() {
    func code(_ verdicts: [Finding.Verdict]) -> ExitCode {
      do {
        try DoctorCommand.report(
          verdicts.map { Finding("a", $0, "b") }, proxy: nil, on: Console(printsJSON: false))
        return .done
      } catch {
        return (error as? CommandFailure)?.exitCode ?? .usage
      }
    }
    #expect(code([.ok, .warning]) == .done)
    #expect(code([.ok, .undetermined]) == .undetermined)
    #expect(code([.undetermined, .failure]) == .failed)
  }
}
