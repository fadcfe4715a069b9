import CoreTypes
import HTTPParsing
import Synchronization
import SystemCalls

@testable import HTTPServer

/// Rules of a whole ``ClientConnection`` for any bytes that a client may send, without a socket, a loop or a thread.
///
/// However what a client sends is cut, and however little of its answers it takes at a time, it gets the same answers. No turn does
/// more than it may. While nothing can be done, a deadline runs or a handler owes an answer. Nothing is sent behind the end. And a
/// client that ends, or falls silent, is let go.
enum ConnectionProperties {
  /// The first three bytes choose how the rest, which the client sends, comes and how its answers are taken.
  static func check(_ bytes: [UInt8]) -> String? {
    guard bytes.count > 3 else { return nil }
    let sent = Array(bytes[3...])
    return loop.withLock { loop in
      var plain = SimulatedClient(sent, way: .plain(ends: bytes[0] & 1 == 0))
      if let broken = plain.run(with: loop) { return broken }
      var divided = SimulatedClient(sent, way: Way(bytes[0], bytes[1], bytes[2]))
      if let broken = divided.run(with: loop) { return "in parts: \(broken)" }
      // Mostly they are the same to the byte.
      if plain.allAnswers == divided.allAnswers { return nil }
      let (one, other) = (plain.answers, divided.answers)
      return one == other ? nil : "in parts it is answered with \(text(other)), else with \(text(one))"
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).debugDescription
  }

  private static let loop = Mutex(SimulatedLoop())

  /// How a client's bytes come and its answers go.
  struct Way {
    /// The client closes its sending half at last; else it falls silent.
    var ends: Bool
    /// Bytes that come at once, by turns.
    var parts: [Int]
    /// Bytes that are taken at once, by turns.
    var room: [Int]
    /// A turn is over after so many looks at the clock.
    var looks: UInt64?
    /// Files have to be read from their device first.
    var isCold = false
    /// Handlers answer when all has come that comes before.
    var isSlow = false

    static func plain(ends: Bool) -> Way { Way(ends: ends, parts: [.max], room: [.max], looks: nil) }
  }
}

extension ConnectionProperties.Way {
  fileprivate init(_ first: UInt8, _ second: UInt8, _ third: UInt8) {
    ends = first & 1 == 0
    isCold = first & 2 != 0
    isSlow = first & 4 != 0
    looks = first & 8 != 0 ? UInt64(first >> 4) + 2 : nil
    let sizes = [1, 2, 3, 5, 8, 21, 55, 233]
    parts = [sizes[Int(second & 7)], sizes[Int(second >> 3 & 7)], [30, 100, 300, 1000][Int(second >> 6)]]
    let rooms = [1, 20, 90, 600, 3000, 20_000, 70_000, .max]
    room =
      third == 255
      ? [.max] : [rooms[Int(third & 7)], rooms[Int(third >> 3 & 7)], [1, 50, 500, 5000][Int(third >> 6)]]
  }
}

/// The state that the connections of all inputs share, one after the other as on a loop.
// Unchecked: whoever has it has its lock.
private final class SimulatedLoop: @unchecked Sendable {
  final class Clock: MonotonicClock {
    private let instant = Atomic<UInt64>(1_000_000_000)
    private let step = Atomic<UInt64>(0)

    func now() -> MonotonicInstant {
      let step = step.load(ordering: .relaxed)
      return MonotonicInstant(nanoseconds: instant.add(step, ordering: .relaxed).newValue)
    }

    /// With every look it is that much later.
    func set(step nanoseconds: UInt64) { step.store(nanoseconds, ordering: .relaxed) }

    func advance(_ nanoseconds: UInt64) { instant.add(nanoseconds, ordering: .relaxed) }

    func sleep(for duration: Duration) async throws { throw CancellationError() }
  }

  private struct StandingClock: WallClock {
    func now() -> Timestamp { Timestamp(millisecondsSinceEpoch: 1_795_000_000_000) }
  }

  final class Pages: PageCache {
    let areThere = Atomic<Bool>(true)

    func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool { areThere.load(ordering: .relaxed) }

    func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError) {}
  }

  /// Keeps the requests for the client's run, which answers them.
  final class Requests: RequestRunner {
    private let begun = Mutex<[PendingRequest]>([])

    var waitingCount: Int { 0 }
    var runningCount: Int { 0 }

    func begin(_ pending: PendingRequest) { begun.withLock { $0.append(pending) } }

    /// Those begun since the last call.
    func collect() -> [PendingRequest] {
      begun.withLock { begun in
        defer { begun = [] }
        return begun
      }
    }
  }

  let clock = Clock()
  let pages = Pages()
  let requests = Requests()
  /// Bytes.
  let longestTurn: Int
  var services: LoopServices

  init() {
    do {
      let file = try SharedDescriptor(try FileDescriptor.open("/proc/self/exe", .readOnly))
      let handler = SimulatedHandler(file: file)
      var configuration = HTTPServerConfiguration(addresses: [])
      // Small, so that the small answers to many requests fill a turn.
      configuration.turnLength = 16_384
      configuration.sliceLength = 65_536
      longestTurn = configuration.turnLength + configuration.sliceLength + LoopServices.scratchLength
      let context = ServerContext(
        configuration: configuration, clock: clock, wallClock: StandingClock(),
        makeDispatcher: { TypedInlineDispatcher(handler, capacity: $0) }, requests: requests, pageCache: pages
      )
      services = LoopServices(
        context: context, mailbox: try LoopMailbox(), number: 0, counters: CounterBlock(), ring: nil,
        capacity: 1)
    } catch {
      preconditionFailure("no file to serve: \(error)")
    }
  }
}

/// Answers by the first letter of the path, with nothing in it that the client wrote.
private struct SimulatedHandler: InlineHandler {
  private static let lengths: [Int64] = [1, 8192, 8193, 70_000, 150_000]
  let file: SharedDescriptor

  func makeConnectionState() {}

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.path.count > 1 else { return .deferToAsync }
    let choice = Int(head.path.count % Self.lengths.count)
    switch bytes[head.path.lowerBound + 1] {
    case UInt8(ascii: "a"):
      response.start(.ok)
      response.finish()
    case UInt8(ascii: "f"):
      response.start(.ok)
      response.finish(file: file, range: 5..<5 + Self.lengths[choice])
    case UInt8(ascii: "m"):
      let parts = MultipartRanges(
        [0..<10, 400..<400 + Self.lengths[choice]], of: file, partType: "a/b", boundary: "edge")
      response.start(.partialContent)
      response.finish(parts: parts.parts)
    default: return .deferToAsync
    }
    return .answered
  }
}

/// A client of one connection, and the loop and the handlers as far as that one knows them.
private struct SimulatedClient {
  private let sent: [UInt8]
  private let way: ConnectionProperties.Way
  private let line: SimulatedLine
  private var handling: [HandledRequest] = []

  init(_ sent: [UInt8], way: ConnectionProperties.Way) {
    self.sent = sent
    self.way = way
    line = SimulatedLine(room: way.room)
  }

  var allAnswers: [UInt8] { line.answers }

  /// All that it was sent, but for what depends on when something came: permissions to go on, and whether the connection closes.
  var answers: [UInt8] {
    allAnswers.removing("HTTP/1.1 100 Continue\r\n\r\n").removing("Connection: close\r\n").removing(
      "Connection: keep-alive\r\n")
  }

  /// Sends all, is served as a loop would, and ends; a broken rule.
  mutating func run(with loop: SimulatedLoop) -> String? {
    loop.pages.areThere.store(!way.isCold, ordering: .relaxed)
    loop.clock.set(step: way.looks.map { Turn.time / $0 } ?? 0)
    // Long enough for the loop to forget which pages were in memory.
    loop.clock.advance(2_000_000_000)
    loop.services.refreshTime()
    loop.services.dispatcher?.open(0)
    var connection = ClientConnection(
      descriptor: -1, tag: ConnectionTag(index: 0, generation: ConnectionTag.Generation()), peer: .unix,
      tls: TLSSession())
    let broken = converse(&connection, with: loop)
    if !connection.machine.isClosed {
      loop.services.beginTurn()
      connection.abandon(through: line, with: &loop.services)
    }
    loop.services.dispatcher?.close(0)
    loop.services.context.pages.cancel(connection.tag, of: loop.services.mailbox)
    _ = loop.services.mailbox.collectMessages()
    _ = loop.requests.collect()
    return broken ?? line.fault
  }

  private mutating func converse(_ connection: inout ClientConnection, with loop: SimulatedLoop) -> String? {
    var position = 0
    var arrivals = 0
    while position < sent.count, !connection.machine.isClosed {
      let part = way.parts[arrivals % way.parts.count]
      let count = min(arrivals < SimulatedLine.smallSteps ? part : max(part, 64), sent.count - position)
      line.arrive(sent[position..<position + count])
      position += count
      arrivals += 1
      if let broken = serve(&connection, readiness: .input, with: loop) { return broken }
      if !way.isSlow || position == sent.count {
        if let broken = answer(&connection, with: loop) { return broken }
      }
    }
    if way.ends {
      line.end()
      if let broken = serve(&connection, readiness: .lastInput, with: loop) { return broken }
      if let broken = answer(&connection, with: loop) { return broken }
      return connection.machine.isClosed
        ? nil : "it stays open when its client has ended: \(connection.machine)"
    }
    // Four deadlines end the slowest: of a head, of its refusal, of what follows it, and one more for a rate's first window.
    for _ in 0..<6 {
      guard !connection.machine.isClosed else { return nil }
      loop.clock.advance(
        connection.timer.due > loop.services.now ? connection.timer.due - loop.services.now : 0)
      loop.services.refreshTime()
      if connection.keepsPace(through: line, with: loop.services) { continue }
      if let broken = turn(of: &connection, with: loop, { $0.passDeadline(through: $1, with: &$2) }) {
        return broken
      }
      if let broken = serve(&connection, readiness: nil, with: loop) { return broken }
      if let broken = answer(&connection, with: loop) { return broken }
    }
    return connection.machine.isClosed
      ? nil : "it stays open when its client is silent: \(connection.machine)"
  }

  /// One turn, and what it may do.
  private mutating func turn(
    of connection: inout ClientConnection, with loop: SimulatedLoop,
    _ work: (inout ClientConnection, SimulatedLine, inout LoopServices) -> Void
  ) -> String? {
    loop.services.refreshTime()
    loop.services.beginTurn()
    line.beginTurn()
    connection.wantsTurn = false
    work(&connection, line, &loop.services)
    if let fault = line.fault { return fault }
    // Its last part may go beyond it, and one request is answered even where there is no time for another.
    if line.turnBytes > loop.longestTurn {
      return "\(line.turnBytes) bytes in one turn"
    }
    // Between two looks at the clock there is one request at most: it is received, its head is sent, and two parts of its content.
    if let looks = way.looks, line.turnCalls > 6 * (Int(looks) + 2) {
      return "\(line.turnCalls) calls in one turn"
    }
    return nil
  }

  /// Gives the connection turns for as long as it can go on, the line's room and the pages of files as well.
  private mutating func serve(
    _ connection: inout ClientConnection, readiness: ClientConnection.Readiness?, with loop: SimulatedLoop
  ) -> String? {
    if let readiness, !connection.machine.isClosed {
      if let broken = turn(of: &connection, with: loop, { $0.wake(readiness, through: $1, with: &$2) }) {
        return broken
      }
    }
    for _ in 0..<100_000 {
      guard !connection.machine.isClosed else { return nil }
      let broken: String?
      if connection.wantsTurn {
        broken = turn(of: &connection, with: loop) { $0.resume(through: $1, with: &$2) }
      } else if connection.output.isFetching {
        loop.services.context.pages.cancel(connection.tag, of: loop.services.mailbox)
        broken = turn(of: &connection, with: loop) {
          if $0.isReadingAhead { $0.receivePagesAhead(failure: nil, through: $1, with: &$2) }
          if $0.output.isFetching { $0.receivePages(failure: nil, through: $1, with: &$2) }
        }
      } else if connection.isReadingAhead {
        loop.services.context.pages.cancel(connection.tag, of: loop.services.mailbox)
        broken = turn(of: &connection, with: loop) {
          $0.receivePagesAhead(failure: nil, through: $1, with: &$2)
        }
      } else if connection.machine.wait == .socket {
        if !line.isBlocked { return "it waits for a line that takes more" }
        line.makeRoom()
        broken = turn(of: &connection, with: loop) { $0.wake(.output, through: $1, with: &$2) }
      } else {
        return checkWait(&connection, with: loop)
      }
      if let broken { return broken }
    }
    return "it never comes to rest: \(connection.machine)"
  }

  /// Nothing can be done now: something has to come, and until when is known.
  private mutating func checkWait(_ connection: inout ClientConnection, with loop: SimulatedLoop) -> String? {
    _ = connection.renewDeadline(through: line, with: loop.services)
    if connection.machine.acceptsInput, line.hasArrived { return "it leaves unread what has come" }
    if connection.machine.deadline == .none {
      let isHandled = connection.exchange != nil && connection.machine.wait == .handler
      return isHandled ? nil : "it waits without a deadline: \(connection.machine)"
    }
    return connection.timer.due > 0 ? nil : "its deadline has no time"
  }

  /// Lets the handlers do what they can.
  private mutating func answer(_ connection: inout ClientConnection, with loop: SimulatedLoop) -> String? {
    // Each request of the input may need some steps: its content, its answer, and the parts of that.
    for _ in 0..<20_000 {
      handling += loop.requests.collect().map { HandledRequest(pending: $0) }
      guard !handling.isEmpty else { return nil }
      let exchange = handling[0].pending.exchange
      if handling[0].advance() { handling.removeFirst() }
      if connection.machine.isClosed { continue }
      guard connection.exchange === exchange else {
        return "a request is handled that is no longer this connection's"
      }
      let before = connection.machine
      if let broken = turn(of: &connection, with: loop, { $0.process(exchange, through: $1, with: &$2) }) {
        return broken
      }
      if let broken = serve(&connection, readiness: nil, with: loop) { return broken }
      // It waits for more content than has come.
      if connection.machine == before, handling.first?.pending.exchange === exchange, handling[0].isWaiting {
        return nil
      }
    }
    return "its handlers never come to an end"
  }
}

/// A handler at work, by steps in place of a task.
private struct HandledRequest {
  let pending: PendingRequest
  private(set) var isWaiting = false
  private var count = 0
  private var sum: UInt64 = 0
  private var parts = 0

  init(pending: PendingRequest) { self.pending = pending }

  /// Takes a step; true when there is nothing left to be done.
  mutating func advance() -> Bool {
    isWaiting = false
    if parts > 0 {
      parts -= 1
      do throws(ResponseWriterError) {
        if parts > 0 { try pending.exchange.append(Array(repeating: 0x73, count: 5000 * parts)) }
      } catch {
        // The connection is gone.
        parts = 0
      }
      if parts == 0 { pending.exchange.endStream(.complete) }
      return parts == 0
    }
    // Without its content, if what it leaves is read either way.
    let letter = pending.request.path.utf8.dropFirst().first
    let length = pending.request.body.expectedLength?.rawValue ?? .max
    let answersAtOnce =
      letter == UInt8(ascii: "e") && length < 60_000 && pending.request.headers["Expect"] == nil
    while !answersAtOnce {
      switch pending.exchange.readBody() {
      case .bytes(let bytes):
        count += bytes.count
        for byte in bytes { sum = sum &* 31 &+ UInt64(byte) }
        continue
      case .end: break
      case .failed:
        pending.exchange.answer(HTTPResponse(status: .badRequest))
        return true
      case .wait:
        isWaiting = true
        return false
      }
      break
    }
    if letter == UInt8(ascii: "s") {
      parts = 4
      pending.exchange.answer(HTTPResponse(status: .ok, body: .stream { _ in }))
      return pending.request.method == .head
    }
    pending.exchange.answer(HTTPResponse(status: .ok, body: .bytes(Array("\(count) bytes, \(sum)".utf8))))
    return true
  }
}

/// The bytes that the client has sent and that were not read, and those that it was sent.
private final class SimulatedLine: ConnectionLine {
  private enum Piece {
    case bytes([UInt8])
    case file(Range<Int64>)
  }

  private var arrived: ArraySlice<UInt8> = []
  private var hasEnded = false
  private var pieces: [Piece] = []
  /// So often parts and room may be as small as they are: more of them would take time and find nothing else.
  static let smallSteps = 100

  private let room: [Int]
  private var turn = 0
  private var left: Int
  /// It has said that it takes no more.
  private(set) var isBlocked = false
  private var hasEndedSending = false
  private(set) var turnBytes = 0
  private(set) var turnCalls = 0
  private(set) var fault: String?

  var hasArrived: Bool { !arrived.isEmpty }

  /// Parts of files by their places alone.
  var answers: [UInt8] {
    var answers: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): answers += bytes
      case .file(let range): answers += Array("{\(range)}".utf8)
      }
    }
    return answers
  }

  init(room: [Int]) {
    self.room = room
    left = room[0]
  }

  func arrive(_ bytes: ArraySlice<UInt8>) { arrived += bytes }

  func end() { hasEnded = true }

  func beginTurn() {
    turnBytes = 0
    turnCalls = 0
  }

  func makeRoom() {
    turn += 1
    left = turn < Self.smallSteps ? room[turn % room.count] : max(room[turn % room.count], 3000)
    isBlocked = false
  }

  private func take(_ wanted: Int, scale: Int) -> Int? {
    turnCalls += 1
    if hasEndedSending { fault = "it sends behind its end" }
    guard left > 0 else {
      isBlocked = true
      return nil
    }
    let count = left > .max / scale ? wanted : min(wanted, left * scale)
    if left != .max { left -= (count + scale - 1) / scale }
    turnBytes += count
    return count
  }

  func send(_ bytes: UnsafePointer<UInt8>, count: Int, more: Bool) throws(SystemError) -> Int? {
    guard let taken = take(count, scale: 1) else { return nil }
    let sent = unsafe Array(UnsafeBufferPointer(start: bytes, count: taken))
    pieces.append(.bytes(sent))
    return taken
  }

  func sendFile(_ file: SharedDescriptor, from offset: Int64, count: Int) throws(SystemError) -> Int? {
    // Content is long, and as good as the next.
    guard let taken = take(count, scale: 64) else { return nil }
    let range = offset..<offset + Int64(taken)
    if case .file(let last)? = pieces.last, last.upperBound == offset {
      pieces[pieces.count - 1] = .file(last.lowerBound..<range.upperBound)
    } else {
      pieces.append(.file(range))
    }
    return taken
  }

  func receive(into bytes: UnsafeMutablePointer<UInt8>, upTo limit: Int) throws(SystemError) -> Int? {
    turnCalls += 1
    guard !arrived.isEmpty else { return hasEnded ? 0 : nil }
    let taken = arrived.prefix(limit)
    _ = unsafe UnsafeMutableBufferPointer(start: bytes, count: taken.count).initialize(
      fromContentsOf: taken)
    arrived = arrived.dropFirst(taken.count)
    turnBytes += taken.count
    return taken.count
  }

  func setCorked(_ isCorked: Bool) {}

  func setPace(bytesPerSecond: UInt64) {}

  var queuedOutput: Int { 0 }

  func endSending() -> Bool {
    hasEndedSending = true
    return true
  }

  func dropQueue() {}
}

extension [UInt8] {
  /// Without any occurrence of the text.
  fileprivate func removing(_ text: StaticString) -> [UInt8] {
    let pattern = Array(text.description.utf8)
    guard count >= pattern.count else { return self }
    var result: [UInt8] = []
    result.reserveCapacity(count)
    var position = 0
    while position < count {
      if self[position] == pattern[0], self[position...].starts(with: pattern) {
        position += pattern.count
      } else {
        result.append(self[position])
        position += 1
      }
    }
    return result
  }
}
