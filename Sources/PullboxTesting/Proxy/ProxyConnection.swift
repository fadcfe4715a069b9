internal import SystemCalls

/// One connection through a proxy: two threads that copy until either side ends.
final class ProxyConnection: Sendable {
  /// The side of the client.
  private let client: LoopbackSocket
  /// The side of the server.
  private let server: LoopbackSocket
  /// The rules that package bytes are held to.
  private let rules: ProxyRules
  /// The rate that responses are held to.
  private let pace: ProxyPace
  /// The thread that copies requests.
  private let upward = BlockingThread(name: "proxy up")
  /// The thread that copies responses.
  private let downward = BlockingThread(name: "proxy down")

  /// A connection between two sockets that are open. Nothing is copied before ``run()``.
  init(client: LoopbackSocket, server: LoopbackSocket, rules: ProxyRules, pace: ProxyPace) {
    self.pace = pace
    self.client = client
    self.server = server
    self.rules = rules
  }

  /// Returns when both directions have ended.
  func run() async {
    async let up: Void = upward.run { self.copyRequests() }
    async let down: Void = downward.run { self.copyResponses() }
    _ = await (up, down)
  }

  /// Ends both sides. The copying threads find that out at their next call and end too.
  func cut() {
    client.shutDown()
    server.shutDown()
  }

  /// Copies to the server without a look at the bytes, until either side ends; then ends both.
  private func copyRequests() {
    while true {
      let bytes = client.receive(upTo: 65_536)
      guard !bytes.isEmpty, server.send(bytes[...]) else { break }
    }
    // A client that is gone must not keep its server busy.
    cut()
  }

  /// Copies to the client. Package bytes go by the rules, other bytes at once.
  private func copyResponses() {
    var scanner = PackageScanner()
    reading: while true {
      let bytes = server.receive(upTo: pace.chunk)
      guard !bytes.isEmpty else { break }
      pace.wait(for: bytes.count)
      for segment in scanner.scan(bytes) {
        switch segment {
        case .other(let part):
          guard client.send(part) else { break reading }
        case .package(let offset, let part):
          guard forward(part, from: offset) else { break reading }
        }
      }
    }
    cut()
  }

  /// False when the connection is to end.
  private func forward(_ bytes: ArraySlice<UInt8>, from offset: Int64) -> Bool {
    var rest = bytes
    var position = offset
    while !rest.isEmpty {
      let admitted = rules.admit(position..<(position + Int64(rest.count)))
      let end = rules.removeCut(in: admitted) ?? admitted.upperBound
      var part = Array(rest.prefix(Int(end - position)))
      for flip in rules.removeFlips(in: position..<end) { part[Int(flip - position)] ^= 1 }
      guard client.send(part[...]) else { return false }
      rules.note(forwarded: position..<end)
      if end < admitted.upperBound { return false }
      rest = rest.dropFirst(part.count)
      position = end
    }
    return true
  }
}
