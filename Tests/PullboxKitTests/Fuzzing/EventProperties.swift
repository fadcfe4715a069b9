import CoreTypes

@testable import PullboxKit

/// A stream of events means the same however it is cut, what a reading of the whole by the standard's own steps makes of it, and the same
/// again once it is written; its bounds hold.
enum EventProperties {
  private static let bound = ByteCount(64)

  static func check(_ bytes: [UInt8]) -> String? {
    let whole = read([bytes])
    let single = read(bytes.map { [$0] })
    // A refusal takes the events along that its own part had before it.
    guard whole.refusal == single.refusal, whole.delay == single.delay,
      whole.refusal != nil || whole.events == single.events
    else {
      return "the same bytes are read otherwise one by one"
    }
    let middle = bytes.count / 3
    let halves = read([Array(bytes[..<middle]), Array(bytes[middle...])])
    guard whole.refusal == halves.refusal, whole.refusal != nil || whole.events == halves.events else {
      return "the same bytes are read otherwise in two parts"
    }
    guard whole.events.allSatisfy({ $0.data.count <= bound.rawValue && !$0.name.isEmpty }) else {
      return "an event beyond its bounds"
    }
    guard whole.refusal == nil else { return nil }
    guard whole.events == plain(bytes) else { return "the events are others than those of the standard" }
    let written = whole.events.flatMap(spelled)
    return read([written]).events == whole.events ? nil : "events are read otherwise than they were written"
  }

  private static func read(
    _ parts: [[UInt8]]
  ) -> (events: [ServerSentEvent], refusal: ServerSentEventParser.Refusal?, delay: Duration?) {
    var parser = ServerSentEventParser(maximumLineLength: bound, maximumDataLength: bound)
    var events: [ServerSentEvent] = []
    for part in parts {
      do throws(ServerSentEventParser.Refusal) {
        events += try parser.read(part.span)
      } catch {
        return (events, error, parser.retryDelay)
      }
    }
    return (events, nil, parser.retryDelay)
  }

  /// HTML, section 9.2.6, over the whole text.
  private static func plain(_ bytes: [UInt8]) -> [ServerSentEvent] {
    var rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    var events: [ServerSentEvent] = []
    var (data, type, identifier): ([UInt8]?, [UInt8], [UInt8]) = (nil, [], [])
    while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
      let line = rest[..<end]
      let isPair = rest[end] == 0x0D && end + 1 < rest.endIndex && rest[end + 1] == 0x0A
      rest = rest[(end + (isPair ? 2 : 1))...]
      guard !line.isEmpty else {
        if let data {
          events.append(
            ServerSentEvent(
              name: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self), data: data,
              lastIdentifier: String(decoding: identifier, as: UTF8.self)))
        }
        (data, type) = (nil, [])
        continue
      }
      let parts = line.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
      var value = parts.count == 2 ? Array(parts[1]) : []
      if value.first == 0x20 { value.removeFirst() }
      switch Array(parts[0]) {
      case Array("data".utf8): data = data.map { $0 + [0x0A] + value } ?? value
      case Array("event".utf8): type = value
      case Array("id".utf8) where !value.contains(0): identifier = value
      default: break
      }
    }
    return events
  }

  private static func spelled(_ event: ServerSentEvent) -> [UInt8] {
    let head = "id: \(event.lastIdentifier)\nevent: \(event.name)\n"
    var lines: [UInt8] = []
    for line in event.data.split(separator: 0x0A, omittingEmptySubsequences: false) {
      lines += Array("data: ".utf8) + Array(line) + [0x0A]
    }
    return Array(head.utf8) + lines + [0x0A]
  }
}
