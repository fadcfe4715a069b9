import Database
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("What the papers say of the agent, and what it is")
struct ReferenceTests {
  @Test("the agent's part of docs/configuration.md is what its options say")
  func configuration() throws {
    let made = ConfigurationReference.markdown(AgentCommand.description)
    let written = try RepositoryFile("docs/configuration.md").part("pullbox-agent")
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("deploy/samples/agent.json5 is what --print-sample prints")
  func sample() throws {
    let made = ConfigurationSample(AgentCommand.description).text
    let written = try RepositoryFile("deploy/samples/agent.json5").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("the sample has no fault and changes nothing, and neither has any of its keys when it counts")
  func sampleIsGood() throws {
    let directory = try TemporaryDirectory()
    func report(_ sample: ConfigurationSample) throws -> ConfigurationReport<AgentConfiguration> {
      let path = directory.path("sample.json5")
      try DurableFile.write(Array(sample.text.utf8).span, to: path)
      let parser = ArgumentParser(AgentCommand.description, environment: [:])
      guard case .run(let parsed) = try parser.parse(["--config", path]) else { throw UsageError("help") }
      return ConfigurationReport(parsed)
    }
    #expect(try report(ConfigurationSample(AgentCommand.description)).faults == [])
    let keys = try report(ConfigurationSample(AgentCommand.description, keysCount: true))
    // The files and the names that examples speak of are not on this machine.
    let others = keys.faults.filter {
      !["tls.", "operatorKeyFile", "control", "accountTokenFile", "serverCA", "storeCA", "serverPin"]
        .contains(where: $0.subject.hasPrefix)
    }
    #expect(others == [])
  }
}
