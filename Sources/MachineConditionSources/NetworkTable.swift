import AgentRecords

/// The links, addresses and default routes of this machine, as the kernel's messages tell them. There is a way where a link that is up,
/// and no loopback, has an address, if only one of the link itself: a server may be there. Pure.
struct NetworkTable: Hashable, Sendable {
  private struct Link: Hashable, Sendable {
    var name: String
    var isUp: Bool
    var isLoopback: Bool
  }

  private struct Address: Hashable, Sendable {
    var link: UInt32
    var bytes: [UInt8]
  }

  /// A route to everywhere. Without links it is one by a next hop that the kernel keeps elsewhere.
  private struct Route: Hashable, Sendable {
    var family: UInt8
    var links: [UInt32]
    var gateway: [UInt8]
    var priority: UInt32
    /// Whether it is one of the main table, and not one that some packets alone take.
    var isMain: Bool
  }

  /// The order in which the kernel would take routes; the smaller is the better one.
  private struct Rank: Comparable {
    var isOther: Bool
    var priority: UInt32

    static func < (left: Self, right: Self) -> Bool {
      left.isOther == right.isOther ? left.priority < right.priority : right.isOther
    }
  }

  /// More than so many of each are not looked at: a machine that has them has a way.
  static let maximumEntries = 4096

  private var links: [UInt32: Link] = [:]
  private var addresses: Set<Address> = []
  private var routes: Set<Route> = []

  /// Takes in a message; what is of another kind changes nothing.
  mutating func apply(_ message: NetlinkMessages.Message) {
    switch message.kind {
    case 16: noteLink(message)
    case 17: removeLink(message)
    case 20: noteAddress(message, isThere: true)
    case 21: noteAddress(message, isThere: false)
    case 24: noteRoute(message, isThere: true)
    case 25: noteRoute(message, isThere: false)
    default: break
    }
  }

  /// The links that lead further, those of default routes first and the best of them at the front.
  private var ways: [UInt32] {
    let open = Set(addresses.map(\.link)).filter(leads)
    var best: [UInt32: Rank] = [:]
    for route in routes {
      let rank = Rank(isOther: !route.isMain, priority: route.priority)
      for link in route.links { best[link] = min(best[link] ?? rank, rank) }
    }
    let last = Rank(isOther: true, priority: .max)
    return open.sorted { left, right in
      let (first, second) = (best[left] ?? last, best[right] ?? last)
      return first == second ? left < right : first < second
    }
  }

  private func leads(_ link: UInt32) -> Bool {
    links[link].map { $0.isUp && !$0.isLoopback } ?? false
  }

  /// Whether there is a way, and the link that most of what leaves the machine takes. A table without any link, if only a loopback, is of
  /// a kernel that does not tell them: then nothing is told of the way.
  var observation: MachineObservation {
    let way = ways.first
    return MachineObservation {
      $0.fingerprint = fingerprint(of: way)
      $0.way = links.isEmpty ? nil : way == nil ? NetworkWay.none : .open
      $0.isRouted = way != nil && routes.contains { $0.links.isEmpty || $0.links.contains(where: leads) }
      $0.device = way.flatMap { links[$0]?.name }
    }
  }

  /// A number that is another one when connections may have another way: other links, such as those of containers, come and go beside it.
  private func fingerprint(of way: UInt32?) -> Int {
    var hasher = Hasher()
    hasher.combine(way)
    guard let way else { return hasher.finalize() }
    hasher.combine(addresses.filter { $0.link == way })
    hasher.combine(routes.filter { $0.links.contains(way) })
    return hasher.finalize()
  }

  /// `struct ifinfomsg`: the index lies at 4, the flags at 8. `IFF_UP`, `IFF_LOOPBACK` and `IFF_LOWER_UP` say whether bytes can pass. The
  /// routes of a link that goes down are gone without a word of the kernel's.
  private mutating func noteLink(_ message: NetlinkMessages.Message) {
    guard let index = message.integer(at: 4, as: UInt32.self),
      let flags = message.integer(at: 8, as: UInt32.self),
      links.count < Self.maximumEntries || links[index] != nil
    else { return }
    let name = message.attribute(3, behind: 16).map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    links[index] = Link(
      name: name ?? links[index]?.name ?? "link \(index)", isUp: flags & 0x1 != 0 && flags & 0x1_0000 != 0,
      isLoopback: flags & 0x8 != 0)
    if flags & 0x1 == 0 { routes = routes.filter { $0.links != [index] } }
  }

  private mutating func removeLink(_ message: NetlinkMessages.Message) {
    guard let index = message.integer(at: 4, as: UInt32.self) else { return }
    links[index] = nil
    addresses = addresses.filter { $0.link != index }
    routes = routes.filter { $0.links != [index] }
  }

  /// `struct ifaddrmsg`: the scope lies at 3, the index at 4. One of the machine alone (`RT_SCOPE_HOST` and above) leads nowhere.
  private mutating func noteAddress(_ message: NetlinkMessages.Message, isThere: Bool) {
    guard let scope = message.integer(at: 3, as: UInt8.self), scope < 254,
      let index = message.integer(at: 4, as: UInt32.self),
      let bytes = message.attribute(2, behind: 8) ?? message.attribute(1, behind: 8)
    else { return }
    let address = Address(link: index, bytes: Array(bytes))
    guard isThere, addresses.count < Self.maximumEntries else {
      addresses.remove(address)
      return
    }
    addresses.insert(address)
  }

  /// `struct rtmsg`: the family lies at 0, the length of the destination at 1, the table at 4, the kind at 7. A unicast route of any table
  /// but that of local addresses (255) leads everywhere where its destination is the whole world, or a half of it, as tunnels write it.
  private mutating func noteRoute(_ message: NetlinkMessages.Message, isThere: Bool) {
    guard let family = message.integer(at: 0, as: UInt8.self),
      let length = message.integer(at: 1, as: UInt8.self), length <= 1,
      let table = message.integer(at: 4, as: UInt8.self), table != 255,
      message.integer(at: 7, as: UInt8.self) == 1
    else { return }
    let link = message.attribute(4, behind: 12).flatMap(Self.number)
    let hops = message.attribute(9, behind: 12).map(Self.hops) ?? []
    // One by a next hop of its own (`RTA_NH_ID`) may name no link.
    guard link != nil || !hops.isEmpty || message.attribute(30, behind: 12) != nil else { return }
    let route = Route(
      family: family, links: link.map { [$0] } ?? hops,
      gateway: (message.attribute(5, behind: 12) ?? message.attribute(1, behind: 12)).map(Array.init) ?? [],
      priority: message.attribute(6, behind: 12).flatMap(Self.number) ?? 0, isMain: table == 254)
    guard isThere, routes.count < Self.maximumEntries else {
      routes.remove(route)
      return
    }
    routes.insert(route)
  }

  /// The links of a `RTA_MULTIPATH`: each `struct rtnexthop` has its length at 0 and the link at 4.
  private static func hops(_ bytes: ArraySlice<UInt8>) -> [UInt32] {
    var links: [UInt32] = []
    var rest = bytes
    while rest.count >= 8 {
      guard let size = NetlinkMessages.integer(in: rest, at: rest.startIndex, as: UInt16.self),
        let link = NetlinkMessages.integer(in: rest, at: rest.startIndex + 4, as: UInt32.self),
        size >= 8, Int(size) <= rest.count
      else { break }
      links.append(link)
      rest = rest.dropFirst((Int(size) + 3) & ~3)
    }
    return links
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    bytes.count == 4 ? NetlinkMessages.integer(in: bytes, at: bytes.startIndex, as: UInt32.self) : nil
  }
}
