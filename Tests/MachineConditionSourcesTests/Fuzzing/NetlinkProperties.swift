import AgentRecords

@testable import MachineConditionSources

/// The bytes of one read of the kernel's socket (netlink(7)): the messages are those of a second reading, cut anywhere they are the same as far as
/// they are whole, and there is a way only by a link and an address that were told.
enum NetlinkProperties {
  private struct Message: Hashable {
    var kind: Int
    var sequence: Int
    var body: [UInt8]
  }

  static func check(_ bytes: [UInt8]) -> String? {
    let read = messages(bytes)
    guard read == plain(bytes) else { return "\(read) are read of \(plain(bytes))" }
    let cut = messages(Array(bytes.dropLast()))
    guard cut.count <= read.count, cut == Array(read.prefix(cut.count)) else {
      return "messages are others before the last byte has come"
    }
    for message in NetlinkMessages(bytes) {
      if let broken = checkAttributes(message) { return broken }
    }
    var reading = NetworkReading()
    guard (try? reading.take(bytes)) != nil else { return nil }
    return check(reading.table.observation, after: read)
  }

  private static func messages(_ bytes: [UInt8]) -> [Message] {
    NetlinkMessages(bytes).map {
      Message(kind: Int($0.kind), sequence: Int($0.sequence), body: Array($0.body))
    }
  }

  /// A number of so many bytes, the lowest first; nil beyond the end.
  private static func number(_ bytes: some Collection<UInt8>, at offset: Int, _ count: Int) -> Int? {
    let part = bytes.dropFirst(offset).prefix(count)
    return part.count == count ? part.reversed().reduce(0) { $0 << 8 | Int($1) } : nil
  }

  private static func plain(_ bytes: [UInt8]) -> [Message] {
    var messages: [Message] = []
    var rest = bytes[...]
    while let length = number(rest, at: 0, 4), length >= 16, length <= rest.count {
      messages.append(
        Message(
          kind: number(rest, at: 4, 2) ?? 0, sequence: number(rest, at: 8, 4) ?? 0,
          body: Array(rest.dropFirst(16).prefix(length - 16))))
      rest = rest.dropFirst((length + 3) / 4 * 4)
    }
    return messages
  }

  /// The first of each kind that the attributes of a link, an address and a route have.
  private static func checkAttributes(_ message: NetlinkMessages.Message) -> String? {
    for length in [8, 12, 16] {
      var found: [Int: [UInt8]] = [:]
      var rest = message.body.dropFirst(length)
      while let size = number(rest, at: 0, 2), let kind = number(rest, at: 2, 2), size >= 4,
        size <= rest.count
      {
        if found[kind & 0x3FFF] == nil { found[kind & 0x3FFF] = Array(rest.dropFirst(4).prefix(size - 4)) }
        rest = rest.dropFirst((size + 3) / 4 * 4)
      }
      for kind in 0..<32 where message.attribute(UInt16(kind), behind: length).map(Array.init) != found[kind]
      {
        return "the attribute \(kind) is another one"
      }
    }
    return nil
  }

  /// `struct ifinfomsg` has the index at 4 and the flags at 8, `struct ifaddrmsg` the index at 4.
  private static func check(_ observation: MachineObservation, after messages: [Message]) -> String? {
    guard (observation.way == .open) == (observation.device != nil) else { return "a way without a device" }
    guard observation.way == .open else {
      return observation.isRouted == true ? "a route leads where no way does" : nil
    }
    let links = messages.filter { message in
      let flags = number(message.body, at: 8, 4) ?? 0
      return message.kind == 16 && flags & 0x1_0001 == 0x1_0001 && flags & 0x8 == 0
    }
    let addresses = messages.filter { $0.kind == 20 }.map { number($0.body, at: 4, 4) }
    return links.contains { addresses.contains(number($0.body, at: 4, 4)) }
      ? nil : "a way by no link that was told"
  }
}
