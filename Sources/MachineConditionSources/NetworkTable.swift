import AgentRecords

/// The links, addresses and default routes of this machine, as the kernel's messages tell them. There is a way where a link that is up,
/// and no loopback, has an address that reaches further than the link. Pure.
struct NetworkTable: Hashable, Sendable {
  private struct Link: Hashable, Sendable {
    var name: String
    var isUp: Bool
  }

  private struct Address: Hashable, Sendable {
    var link: UInt32
    var bytes: [UInt8]
  }

  private struct Route: Hashable, Sendable {
    var link: UInt32
    var gateway: [UInt8]
    var priority: UInt32
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

  /// The names of the links that lead further, those of default routes first and the best of them at the front.
  private var ways: [String] {
    let open = Set(addresses.map(\.link)).compactMap { index in links[index].map { (index, $0) } }
      .filter { $1.isUp }
    let best = Dictionary(routes.map { ($0.link, $0.priority) }, uniquingKeysWith: min)
    return open.sorted { left, right in
      (best[left.0] ?? .max, left.0) < (best[right.0] ?? .max, right.0)
    }.map { $1.name }
  }

  /// Whether there is a way, and the link that most of what leaves the machine takes.
  var observation: MachineObservation {
    let (device, fingerprint) = (ways.first, fingerprint)
    return MachineObservation {
      $0.fingerprint = fingerprint
      $0.way = device == nil ? NetworkWay.none : .open
      $0.isRouted = routes.contains { links[$0.link]?.isUp == true }
      $0.device = device
    }
  }

  /// A number that is another one when connections may have another way.
  private var fingerprint: Int {
    var hasher = Hasher()
    hasher.combine(ways)
    hasher.combine(addresses.filter { links[$0.link]?.isUp == true })
    hasher.combine(routes)
    return hasher.finalize()
  }

  /// `struct ifinfomsg`: the index lies at 4, the flags at 8. `IFF_UP`, `IFF_LOOPBACK` and `IFF_LOWER_UP` say whether bytes can pass.
  private mutating func noteLink(_ message: NetlinkMessages.Message) {
    guard let index = message.integer(at: 4, as: UInt32.self),
      let flags = message.integer(at: 8, as: UInt32.self)
    else { return }
    guard flags & 0x8 == 0, links.count < Self.maximumEntries || links[index] != nil else {
      links[index] = nil
      return
    }
    let name = message.attribute(3, behind: 16).map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    links[index] = Link(
      name: name ?? links[index]?.name ?? "link \(index)", isUp: flags & 0x1 != 0 && flags & 0x1_0000 != 0)
  }

  private mutating func removeLink(_ message: NetlinkMessages.Message) {
    guard let index = message.integer(at: 4, as: UInt32.self) else { return }
    links[index] = nil
    addresses = addresses.filter { $0.link != index }
    routes = routes.filter { $0.link != index }
  }

  /// `struct ifaddrmsg`: the scope lies at 3, the index at 4. Of less than the whole world are those of a link (253) and of the machine.
  private mutating func noteAddress(_ message: NetlinkMessages.Message, isThere: Bool) {
    guard let scope = message.integer(at: 3, as: UInt8.self), scope < 253,
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

  /// `struct rtmsg`: the length of the destination lies at 1, the table at 4, the kind at 7. A default route of the main table (254) leads
  /// everywhere.
  private mutating func noteRoute(_ message: NetlinkMessages.Message, isThere: Bool) {
    guard message.integer(at: 1, as: UInt8.self) == 0, message.integer(at: 4, as: UInt8.self) == 254,
      message.integer(at: 7, as: UInt8.self) == 1,
      let link = message.attribute(4, behind: 12).flatMap(Self.number)
    else { return }
    let route = Route(
      link: link, gateway: message.attribute(5, behind: 12).map(Array.init) ?? [],
      priority: message.attribute(6, behind: 12).flatMap(Self.number) ?? 0)
    guard isThere, routes.count < Self.maximumEntries else {
      routes.remove(route)
      return
    }
    routes.insert(route)
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    guard bytes.count == 4 else { return nil }
    var value: UInt32 = 0
    for (index, byte) in bytes.enumerated() { value |= UInt32(byte) << (8 * UInt32(index)) }
    return UInt32(littleEndian: value)
  }
}
