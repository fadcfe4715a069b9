import AgentRecords
import CoreTypes
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import MachineConditionSources

@Suite struct NetworkTableTests {
  private static let up: UInt32 = 0x1_0041

  private func table(_ bytes: [UInt8]...) -> NetworkTable {
    var table = NetworkTable()
    for message in NetlinkMessages(bytes.flatMap(\.self)) { table.apply(message) }
    return table
  }

  @Test("there is a way where a link that is up has an address") func way() {
    let link = Netlink.link(2, "eth0", flags: Self.up)
    let address = Netlink.address(2, [192, 0, 2, 7])
    #expect(table(link, address).observation.way == .open)
    #expect(table(link, address).observation.device == "eth0")
    #expect(table(link).observation.way == NetworkWay.none)
    #expect(
      table(Netlink.link(2, "eth0", flags: 0x41), address).observation.way == NetworkWay.none, "no cable")
    #expect(
      table(link, address, Netlink.address(2, [192, 0, 2, 7], kind: 21)).observation.way == NetworkWay.none)
    let loopback = Netlink.link(1, "lo", flags: Self.up | 0x8)
    #expect(
      table(loopback, link, address, Netlink.link(2, "eth0", flags: 0, kind: 17)).observation.way
        == NetworkWay.none)
  }

  @Test("a loopback is no way, whatever its address") func loopback() {
    let loopback = Netlink.link(1, "lo", flags: Self.up | 0x8)
    #expect(
      table(loopback, Netlink.address(1, [127, 0, 0, 1], scope: 254), Netlink.address(1, [192, 0, 2, 1]))
        .observation.way == NetworkWay.none)
  }

  @Test("an address of the link alone is a way: the server may be there") func linkLocal() {
    let link = Netlink.link(2, "eth0", flags: Self.up)
    let address = Netlink.address(2, [0xFE, 0x80] + [UInt8](repeating: 1, count: 14), scope: 253)
    #expect(table(link, address).observation.way == .open)
    #expect(table(link, address).observation.isRouted == false)
  }

  @Test("a kernel that tells no link says nothing of the way") func silent() {
    #expect(NetworkTable().observation.way == nil)
    #expect(table(Netlink.address(2, [192, 0, 2, 7])).observation.way == nil)
  }

  @Test(
    "routes over several links, by a next hop, of a tunnel's own table and to half the world lead everywhere")
  func routes() {
    let links =
      Netlink.link(2, "eth0", flags: Self.up) + Netlink.link(3, "wg0", flags: Self.up)
      + Netlink.address(2, [192, 0, 2, 7]) + Netlink.address(3, [10, 0, 0, 2])
    func route(length: UInt8 = 0, table: UInt8 = 254, _ attributes: [UInt8]) -> [UInt8] {
      Netlink.message(24, [2, length, 0, 0, table, 3, 0, 1] + Netlink.bytes(UInt32(0)) + attributes)
    }
    let hop =
      Netlink.bytes(UInt16(16)) + [0, 0] + Netlink.bytes(UInt32(3)) + Netlink.attribute(5, [10, 0, 0, 1])
    let several = table(links, route(Netlink.attribute(9, hop + hop))).observation
    #expect(several.isRouted == true && several.device == "wg0")
    #expect(table(links, route(Netlink.attribute(30, Netlink.bytes(UInt32(7))))).observation.isRouted == true)
    let own = table(links, route(table: 252, Netlink.attribute(4, Netlink.bytes(UInt32(3))))).observation
    #expect(own.isRouted == true && own.device == "wg0")
    let half = table(
      links,
      route(length: 1, Netlink.attribute(1, [128, 0, 0, 0]) + Netlink.attribute(4, Netlink.bytes(UInt32(3)))))
    #expect(half.observation.isRouted == true)
    #expect(
      table(links, route(table: 255, Netlink.attribute(4, Netlink.bytes(UInt32(3))))).observation.isRouted
        == false)
    #expect(table(links, route(Netlink.attribute(9, [255, 255, 0, 0, 3]))).observation.isRouted == false)
  }

  @Test("links that come and go beside the best way are no other way") func beside() {
    var table = table(
      Netlink.link(2, "eth0", flags: Self.up), Netlink.address(2, [192, 0, 2, 7]),
      Netlink.route(2, priority: 100))
    let before = table.observation
    let container =
      Netlink.link(9, "veth9", flags: Self.up) + Netlink.address(9, [172, 17, 0, 1])
      + Netlink.route(9, priority: 900)
    for message in NetlinkMessages(container) { table.apply(message) }
    #expect(table.observation == before)
    for message in NetlinkMessages(Netlink.address(2, [192, 0, 2, 8])) { table.apply(message) }
    #expect(table.observation.fingerprint != before.fingerprint)
  }

  @Test("the routes of a link that goes down are gone with it") func down() {
    let link = Netlink.link(2, "eth0", flags: Self.up)
    let (address, route) = (Netlink.address(2, [192, 0, 2, 7]), Netlink.route(2, priority: 100))
    #expect(table(link, address, route).observation.isRouted == true)
    let back = table(link, address, route, Netlink.link(2, "eth0", flags: 0x40), link)
    #expect(back.observation.way == .open && back.observation.isRouted == false)
    let unplugged = table(link, address, route, Netlink.link(2, "eth0", flags: 0x41), link)
    #expect(unplugged.observation.isRouted == true, "a cable that is put back has them still")
  }

  @Test("the device is that of the best default route") func device() {
    let links =
      Netlink.link(2, "eth0", flags: Self.up) + Netlink.link(3, "wwan0", flags: Self.up)
      + Netlink.address(2, [192, 0, 2, 7]) + Netlink.address(3, [198, 51, 100, 7])
    #expect(table(links, Netlink.route(3, priority: 700)).observation.device == "wwan0")
    let both = table(links, Netlink.route(3, priority: 700), Netlink.route(2, priority: 100))
    #expect(both.observation.device == "eth0")
    var changed = both
    for message in NetlinkMessages(Netlink.route(2, priority: 100, kind: 25)) { changed.apply(message) }
    #expect(
      changed.observation.device == "wwan0" && changed.observation.fingerprint != both.observation.fingerprint
    )
  }

  @Test("messages that are cut short or lie about their lengths change nothing", arguments: 1...200)
  func hostile(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    var bytes =
      Netlink.link(2, "eth0", flags: Self.up) + Netlink.address(2, [192, 0, 2, 7])
      + Netlink.route(2, priority: 1)
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
    }
    bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
    var count = 0
    var table = NetworkTable()
    for message in NetlinkMessages(bytes) {
      table.apply(message)
      count += 1
    }
    #expect(count <= bytes.count / 16, "seed \(seed)")
  }

  @Test("the kernel tells the way of this machine") func kernel() async throws {
    let source = NetlinkSource(thread: try ReadinessThread(name: "test"), clock: SystemMonotonicClock())
    let told = Locked<[MachineObservation]>([])
    let first = Event()
    let running = Task {
      try await source.run { observation in
        told.withLock { $0.append(observation) }
        first.happen()
      }
    }
    await first.wait()
    running.cancel()
    _ = await running.result
    let names = try FileSystem.list("/sys/class/net").map(\.name)
    let observation = try #require(told.current.first)
    #expect(observation.device.map(names.contains) ?? (observation.way == NetworkWay.none))
  }
}
