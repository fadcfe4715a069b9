import Commerce
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("What is fetched of what arrives")
struct ArrivalPlanTests {
  @Test("policies of publications are configured as PUBLICATION=POLICY, each once")
  func configured() throws {
    var configuration = AgentConfiguration(server: "http://a", store: "http://b", state: "c")
    configuration.arrivals = .ask
    configuration.arrivalsOf = ["villains=all", "heroes=none"]
    let policies = try configuration.arrivalPolicies()
    #expect(policies[ProductIdentifier("villains")] == .all)
    #expect(policies[ProductIdentifier("heroes")] == .nothing)
    #expect(policies[ProductIdentifier("others")] == .ask && policies[nil] == .ask)
    for wrong in ["villains", "villains=", "villains=some", "=all", "a=b=all", "villains=ask"] {
      configuration.arrivalsOf = ["villains=all", wrong]
      #expect(throws: ConfigurationError.self) { try configuration.arrivalPolicies() }
    }
  }
}
