import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import pullbox

@Suite("What status says")
struct StatusReportTests {
  private func status(
    server: AgentStatus.Peer? = nil, store: AgentStatus.Peer? = nil, library: LibraryItem.State = .present
  ) throws -> AgentStatus {
    let well = AgentStatus.Peer(
      url: "http://shop", reachable: true, lastRequest: "GET /healthz",
      lastAsked: Timestamp(millisecondsSinceEpoch: 1_795_327_805_000))
    return AgentStatus(
      device: try #require(DeviceIdentifier("tablet-17")), server: server ?? well, store: store ?? well,
      started: Timestamp(millisecondsSinceEpoch: 0), libraryPath: "/library", freeSpace: .mebibytes(1),
      downloads: ["failed": 3], unfinishedTransactions: 0, libraryState: library)
  }

  private func row(_ name: String, _ status: AgentStatus, updates: Int? = nil) -> String {
    StatusReport.rows(of: status, updates: updates).first { $0.0 == name }?.1 ?? ""
  }

  @Test("all is well where both services answer; downloads that failed once are history")
  func well() throws {
    let status = try status()
    #expect(StatusReport.faults(of: status).isEmpty)
    #expect(row("server", status).hasPrefix("http://shop, answers (GET /healthz, 2026-"))
  }

  @Test("the limits of downloads are said, and nothing where there are none")
  func limits() throws {
    var status = try status()
    #expect(row("limits", status).isEmpty)
    let end = Timestamp(millisecondsSinceEpoch: 1_795_327_805_000)
    status.network = NetworkLimits(
      maximumRate: .mebibytes(2), window: .init(isOpen: false, until: end),
      budget: .init(limit: .gibibytes(20), used: .gibibytes(15), left: .gibibytes(5)))
    #expect(
      row("limits", status)
        == "2.0 MiB a second, downloads wait until \(LocalTime.text(end)), 5.0 GiB of 20.0 GiB left")
  }

  @Test(
    "a service that does not answer, one that refuses the device, and a library that is away are not well")
  func faults() throws {
    let dead = AgentStatus.Peer(url: "http://shop", reachable: false, lastError: "connection refused")
    let away = try status(server: dead)
    #expect(StatusReport.faults(of: away) == ["the server does not answer"])
    #expect(row("server", away) == "http://shop, does not answer: connection refused")
    let refusing = AgentStatus.Peer(url: "http://pay", reachable: true, refusal: Problem(.unauthorized))
    let faults = StatusReport.faults(of: try status(store: refusing, library: .offline))
    #expect(faults.count == 2 && faults[0].hasPrefix("the store refuses this device: "))
    #expect(faults[1] == "the library's volume is not there")
  }

  @Test(
    "a server that does not know the store of this device's purchases is not well, and what names the store is said"
  )
  func storeUnknown() throws {
    let refusing = AgentStatus.Peer(
      url: "http://shop", reachable: true, refusal: Problem(.storeUnknown, "this server knows apple, google"))
    let status = try status(server: refusing)
    let sentence =
      "takes no purchase of this device: The server knows no store of that name: this server knows apple, google; "
      + "give pullbox-agent --store-name"
    #expect(StatusReport.faults(of: status) == ["the server \(sentence)"])
    #expect(row("server", status) == "http://shop, \(sentence)")
  }

  @Test("downloads that wait for room are told apart from those that wait for something else")
  func room() throws {
    var status = try status()
    status.downloads = ["active": 1, "waiting": 3]
    #expect(row("downloads", status) == "1 active, 3 waiting")
    status.waitingForRoom = 0
    #expect(row("downloads", status) == "1 active, 3 waiting")
    status.waitingForRoom = 2
    #expect(
      row("downloads", status) == "1 active, 3 waiting (2 for room: 'pullbox downloads' says how much)")
  }

  @Test("help says that exit code 7 is of 'status': 'doctor' ends with 1 where a check failed")
  func exitCodes() {
    let help = CommandLineInterface.description.help(columns: 400)
    #expect(help.contains("7 not well, of 'status' alone"))
    #expect(DoctorCommand.description.help(columns: 400).contains("1 if one failed"))
  }

  @Test("newer versions are counted, and not a fault")
  func updates() throws {
    let status = try status()
    #expect(row("updates", status, updates: 0) == "none")
    #expect(row("updates", status, updates: 1).hasPrefix("1 newer version:"))
    #expect(row("updates", status) == "")
  }

  @Test("an update is a version above the highest that the library holds")
  func found() throws {
    func item(_ product: String, _ version: String) throws -> LibraryItem {
      LibraryItem(
        product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion(version)),
        path: "/library/x", digest: SHA256Digest.of("x".utf8), length: ByteCount(1),
        placedAt: Timestamp(millisecondsSinceEpoch: 0))
    }
    func owned(_ product: String, _ version: String) throws -> EntitledProduct {
      EntitledProduct(
        product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion(version)),
        length: ByteCount(7), because: "purchased", transaction: try #require(TransactionIdentifier("1")),
        state: "finished")
    }
    let updates = ContentUpdate.find(
      among: [
        try owned("a", "1.10"), try owned("b", "1.0"), try owned("c", "2"), try owned("d", "1"),
      ],
      for: [try item("a", "1.9"), try item("a", "1.2"), try item("b", "1.1"), try item("c", "2")])
    #expect(updates.map { "\($0.product) \($0.held) \($0.newest)" } == ["a 1.9 1.10"])
  }
}
