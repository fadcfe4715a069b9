import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import PullboxKit
@testable import pullbox

@Suite("The conditions of the machine, in words")
struct ConditionsReportTests {
  private static let since = Timestamp(millisecondsSinceEpoch: 1_796_000_000_000)

  private func waiting(
    _ reason: String, _ name: MachineConditionName, device: String? = nil, source: String
  ) throws -> String {
    let status = DownloadStatus(
      id: try #require(DownloadIdentifier("5b0c2f9a1d3e4f60")),
      product: try #require(ProductIdentifier("com.example.heroes")), version: nil,
      transaction: try #require(TransactionIdentifier("2000000000000001")), state: .waiting, reason: reason,
      bytesVerified: .mebibytes(100), bytesTotal: .mebibytes(612), bytesReceived: .zero, progress: 0,
      timeRemaining: nil, speed: 0, error: nil, contentPath: nil,
      condition: DownloadCondition(name: name, source: source, device: device, since: Self.since))
    return StandingText.of(status)
  }

  @Test("a download that waits says for what, who tells it, and what passes it") func words() throws {
    #expect(
      try waiting("metered", .metered, device: "wwan0", source: "NetworkManager").hasPrefix(
        "waits for a way that is not metered (wwan0, by NetworkManager): "
          + "`pullbox resume --now 5b0c` takes 512.0 MiB of it, since "))
    #expect(
      try waiting("battery-low", .batteryLow, source: "UPower").hasPrefix(
        "waits for the battery to be charged (by UPower): `pullbox resume --now 5b0c` goes on all the same"))
    #expect(
      try waiting("no-network", .offline, source: "rtnetlink").hasPrefix(
        "waits for a network (by rtnetlink), since "))
  }

  @Test("conditions and sources are listed, the unknown ones too") func report() {
    let lines = ConditionsReport.lines(
      of: ConditionsResponse(
        conditions: [
          MachineConditionStatus(
            name: .metered, state: .yes, source: "NetworkManager", device: "wwan0", since: Self.since,
            rule: .wait, holds: 2),
          MachineConditionStatus(
            name: .batteryLow, state: .no, source: "UPower", since: Self.since, level: 80, rule: .wait,
            holds: 0),
          MachineConditionStatus(name: .onBattery, state: .unknown, rule: .ignore, holds: 0),
        ],
        sources: [
          ConditionSourceStatus(name: "NetworkManager", state: .speaks, since: Self.since),
          ConditionSourceStatus(name: "PSI", state: .absent, error: "there is none"),
        ]), width: nil)
    #expect(lines[1].hasPrefix("metered") && lines[1].contains("wwan0, by NetworkManager"))
    #expect(lines[1].contains("2 downloads") && lines[1].hasSuffix("--now, --ignore metered"))
    #expect(lines[2].contains("no, 80 %"))
    #expect(lines[3].contains("unknown") && lines[3].contains("ignored"))
    #expect(lines.last?.contains("absent") == true && lines.last?.hasSuffix("there is none") == true)
  }

  @Test("status says which conditions hold downloads") func status() throws {
    var status = AgentStatus(
      device: try #require(DeviceIdentifier("tablet-17")), server: .init(url: "https://pull.example"),
      store: .init(url: "https://store.example"), started: Self.since, libraryPath: "/srv/comics",
      freeSpace: .gibibytes(8), downloads: [:], unfinishedTransactions: 0)
    #expect(!StatusReport.rows(of: status, updates: nil).contains { $0.0 == "conditions" })
    status.conditions = [
      MachineConditionStatus(
        name: .metered, state: .yes, source: "NetworkManager", device: "wwan0", since: Self.since,
        rule: .wait, holds: 2)
    ]
    let row = StatusReport.rows(of: status, updates: nil).first { $0.0 == "conditions" }
    #expect(row?.1.hasPrefix("metered (wwan0, by NetworkManager, since ") == true)
    #expect(
      row?.1.hasSuffix("): 2 downloads waiting, passed by 'pullbox resume' with --now, --ignore metered")
        == true)
  }
}
