import Database
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("What the papers say of the server, and what it is")
struct ReferenceTests {
  @Test("the server's part of docs/configuration.md is what its options say")
  func configuration() throws {
    let made = ConfigurationReference.markdown(DeliveryConfiguration.command)
    let written = try RepositoryFile("docs/configuration.md").part("pullbox-server")
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("deploy/samples/server.json5 is what --print-sample prints")
  func sample() throws {
    let made = ConfigurationSample(DeliveryConfiguration.command).text
    let written = try RepositoryFile("deploy/samples/server.json5").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("the sample has no fault and changes nothing, and neither has any of its keys when it counts")
  func sampleIsGood() throws {
    let directory = try TemporaryDirectory()
    func report(_ sample: ConfigurationSample) throws -> ConfigurationReport<DeliveryConfiguration> {
      let path = directory.path("sample.json5")
      try DurableFile.write(Array(sample.text.utf8).span, to: path)
      let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
      guard case .run(let parsed) = try parser.parse(["--config", path]) else { throw UsageError("help") }
      return ConfigurationReport(parsed)
    }
    #expect(try report(ConfigurationSample(DeliveryConfiguration.command)).faults == [])
    let keys = try report(ConfigurationSample(DeliveryConfiguration.command, keysCount: true))
    // The files and the names that examples speak of are not on this machine.
    let others = keys.faults.filter {
      !["tls.", "operatorKeyFile", "control", "accountTokenFile", "serverCA", "storeCA", "serverPin"]
        .contains(where: $0.subject.hasPrefix)
    }
    #expect(others == [])
  }
}
