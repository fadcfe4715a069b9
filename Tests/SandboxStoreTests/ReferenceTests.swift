import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import SandboxStore

@Suite("What the papers say of the sandbox store, and what it is")
struct ReferenceTests {
  @Test("the store's part of docs/configuration.md is what its options say")
  func configuration() throws {
    let made = ConfigurationReference.markdown(SandboxCommand.description)
    let written = try RepositoryFile("docs/configuration.md").part("pullbox-sandbox")
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("deploy/samples/sandbox.json5 is what --print-sample prints")
  func sample() throws {
    let made = ConfigurationSample(SandboxCommand.description).text
    let written = try RepositoryFile("deploy/samples/sandbox.json5").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("the sample has no fault and changes nothing, and neither has any of its keys when it counts")
  func sampleIsGood() throws {
    let directory = try TemporaryDirectory()
    func report(_ sample: ConfigurationSample) throws -> ConfigurationReport<SandboxConfiguration> {
      let path = directory.path("sample.json5")
      try DurableFile.write(Array(sample.text.utf8).span, to: path)
      let parser = ArgumentParser(SandboxCommand.description, environment: [:])
      guard case .run(let parsed) = try parser.parse(["--config", path]) else { throw UsageError("help") }
      return ConfigurationReport(parsed)
    }
    #expect(try report(ConfigurationSample(SandboxCommand.description)).faults == [])
    let keys = try report(ConfigurationSample(SandboxCommand.description, keysCount: true))
    // The files and the names that examples speak of are not on this machine.
    let others = keys.faults.filter {
      !["tls.", "operatorKeyFile", "control", "accountTokenFile", "serverCA", "storeCA", "serverPin"]
        .contains(where: $0.subject.hasPrefix)
    }
    #expect(others == [])
  }

  @Test("docs/sandbox-store.md has every test control that docs/routes.md lists")
  func controls() throws {
    let rows = try RepositoryFile("docs/routes.md").text.split(separator: "\n").compactMap { line in
      line.split(separator: "`").dropFirst().first.map(String.init)
    }
    let controls = rows.filter { $0.contains(" /sandbox/v1/") }
    #expect(controls.count > 20)
    let text = try RepositoryFile("docs/sandbox-store.md").text
    for control in controls {
      let last = control.split(separator: "/").last ?? ""
      #expect(text.contains("`\(control)") || text.contains("`…/\(last)"), "\(control)")
    }
  }
}
