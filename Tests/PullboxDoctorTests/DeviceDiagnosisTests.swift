import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import PullboxDoctor

@Suite("Findings about a device")
struct DeviceDiagnosisTests {
  private func status(_ change: (inout AgentStatus) -> Void = { _ in }) throws -> AgentStatus {
    var status = AgentStatus(
      device: try #require(DeviceIdentifier("tablet-17")),
      server: .init(url: "https://pull.example", reachable: true),
      store: .init(url: "https://store.example", reachable: true),
      started: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), libraryPath: "/srv/comics",
      freeSpace: .gibibytes(8), downloads: [:], unfinishedTransactions: 0)
    status.reserve = .gibibytes(1)
    change(&status)
    return status
  }

  private func causes(_ answer: DeviceObservations.Answer, mayRead: Bool? = true) -> [Cause] {
    DeviceDiagnosis.findings(
      DeviceObservations(socketPath: "/run/pullbox/agent.sock", answer: answer, mayReadLibrary: mayRead)
    ).compactMap(\.cause)
  }

  @Test("a device on which all is well has only good findings")
  func well() throws {
    let seen = DeviceObservations(socketPath: "/s", answer: .status(try status()), mayReadLibrary: true)
    let findings = DeviceDiagnosis.findings(seen)
    #expect(
      findings.map(\.check) == ["agent", "agent-server", "agent-store", "library", "space", "downloads"])
    #expect(Set(findings.map(\.verdict)) == [.ok])
    #expect(seen.server == "https://pull.example")
  }

  @Test("an agent that is not there, not for this user or silent is told apart")
  func agents() {
    #expect(causes(.noSocket) == [.agentAway])
    #expect(causes(.denied(permissions: 0o660, group: 998)) == [.socketDenied])
    #expect(causes(.silent("it hung up")) == [.agentAway])
  }

  @Test("what the agent says of its services, library and space is judged")
  func judged() throws {
    for (change, cause) in [
      ({ $0.server.reachable = false }, Cause.serverUnreachableForAgent),
      ({ $0.store.reachable = false }, .storeUnreachableForAgent),
      ({ $0.server.refusal = Problem(.storeUnknown) }, .storeNotNamed),
      ({ $0.store.refusal = Problem(.unauthorized) }, .agentRefused),
      ({ $0.libraryState = .offline }, .libraryAway),
      ({ $0.libraryState = .damaged }, .libraryDamaged), ({ $0.freeSpace = .gibibytes(1) }, .spaceShort),
      ({ $0.freeSpace = .mebibytes(1400) }, .spaceShort),
      (
        {
          $0.quota = .gibibytes(2)
          $0.libraryLength = .gibibytes(2)
        }, .quotaShort
      ),
      (
        {
          $0.network = NetworkLimits(budget: .init(limit: .gibibytes(2), used: .gibibytes(2), left: .zero))
        }, .budgetSpent
      ),
      ({ $0.downloads = ["failed": 2, "finished": 3] }, .downloadsFailed),
    ] as [((inout AgentStatus) -> Void, Cause)] {
      #expect(causes(.status(try status(change))) == [cause])
    }
    #expect(causes(.status(try status()), mayRead: false) == [.libraryUnreadable])
  }

  @Test("who tells conditions of the machine is said, and what downloads wait for") func conditions() throws {
    var seen = DeviceObservations(socketPath: "/s", answer: .status(try status()), mayReadLibrary: true)
    func text() -> String? {
      DeviceDiagnosis.findings(seen).first { $0.check == "conditions" && $0.verdict == .ok }?.message
    }
    #expect(text() == nil, "an agent of an earlier version")
    seen.conditions = ConditionsResponse(conditions: [], sources: [])
    #expect(text() == "no source tells any")
    seen.conditions = ConditionsResponse(
      conditions: [
        MachineConditionStatus(
          name: .metered, state: .yes, source: "NetworkManager", device: "wwan0", rule: .wait, holds: 1),
        MachineConditionStatus(name: .onBattery, state: .yes, source: "UPower", rule: .ignore, holds: 0),
      ],
      sources: [
        ConditionSourceStatus(name: "NetworkManager", state: .speaks),
        ConditionSourceStatus(name: "PSI", state: .absent),
      ])
    #expect(text() == "told by NetworkManager; downloads wait for: metered (wwan0, by NetworkManager)")
  }

  @Test("room that the reserve holds back is told apart from room that the quota does")
  func room() throws {
    func advice(_ change: (inout AgentStatus) -> Void) throws -> [String] {
      DeviceDiagnosis.findings(
        DeviceObservations(socketPath: "/s", answer: .status(try status(change)), mayReadLibrary: true)
      ).compactMap { finding in finding.cause.map { "\($0.rawValue): \($0.remedy.advice ?? "")" } }
    }
    let held = try advice { $0.reserve = .gibibytes(8) }
    #expect(held.count == 1 && held[0].hasPrefix("space-short: "))
    #expect(held[0].contains("--space-reserve") && !held[0].contains("--quota"))
    let bounded = try advice {
      $0.quota = .gibibytes(2)
      $0.libraryLength = .gibibytes(2)
    }
    #expect(bounded.count == 1 && bounded[0].hasPrefix("quota-short: "))
    #expect(bounded[0].contains("--quota") && !bounded[0].contains("--space-reserve"))
  }
}
