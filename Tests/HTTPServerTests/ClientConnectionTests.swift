import CoreTypes
import HTTPParsing
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@testable import HTTPServer

/// A connection without a loop and without a socket: what it does within its turns.
@Suite("Connections and their turns", .timeLimit(.minutes(10)))
struct ClientConnectionTests {
  /// Takes what it is told to take, and remembers what it was given.
  private final class Line: ConnectionLine {
    struct State {
      /// That it still takes, and at most at once.
      var room = Int.max
      var atOnce = Int.max
      /// Where the file ends.
      var fileEnd = Int64.max
      var head: [UInt8] = []
      var slices: [Range<Int64>] = []
      var isCorked = false
      var changes = 0
      var paces: [UInt64] = []
      /// The numbers of bytes that come each time; 0 is the end.
      var arriving: [Int] = []
      /// The bytes that come before that, one by one.
      var coming: [UInt8] = []
      var hasEnded = false

      mutating func take(_ count: Int) -> Int? {
        let taken = min(count, room, atOnce)
        room -= taken
        return taken == 0 ? nil : taken
      }
    }

    let state = Locked(State())

    func send(_ bytes: UnsafePointer<UInt8>, count: Int, more: Bool) throws(SystemError) -> Int? {
      state.withLock { state in
        guard let taken = state.take(count) else { return nil }
        unsafe state.head += UnsafeBufferPointer(start: bytes, count: taken)
        return taken
      }
    }

    func sendFile(_ file: SharedDescriptor, from offset: Int64, count: Int) throws(SystemError) -> Int? {
      state.withLock { state in
        let there = Int(max(0, min(Int64(count), state.fileEnd - offset)))
        if there == 0 { return 0 }
        guard let taken = state.take(there) else { return nil }
        state.slices.append(offset..<offset + Int64(taken))
        return taken
      }
    }

    func receive(into bytes: UnsafeMutablePointer<UInt8>, upTo limit: Int) throws(SystemError) -> Int? {
      state.withLock { state in
        if !state.coming.isEmpty {
          let taken = Array(state.coming.prefix(limit))
          _ = unsafe UnsafeMutableBufferPointer(start: bytes, count: taken.count).initialize(
            fromContentsOf: taken)
          state.coming.removeFirst(taken.count)
          return taken.count
        }
        guard let next = state.arriving.first else { return nil }
        state.arriving.removeFirst()
        if next > limit { state.arriving.insert(next - limit, at: 0) }
        return min(next, limit)
      }
    }

    func setCorked(_ isCorked: Bool) {
      state.withLock { state in
        state.isCorked = isCorked
        state.changes += 1
      }
    }

    func setPace(bytesPerSecond: UInt64) { state.withLock { $0.paces.append(bytesPerSecond) } }

    var queuedOutput: Int { 0 }

    func endSending() -> Bool {
      state.withLock { state in
        state.hasEnded = true
        return true
      }
    }

    func dropQueue() {}

    func arrive(_ text: String) { state.withLock { $0.coming += Array(text.utf8) } }

    /// Returns the bytes that were sent since the last call, as text.
    func collectText() -> String {
      state.withLock { state in
        defer { state.head = [] }
        return String(decoding: state.head, as: UTF8.self)
      }
    }
  }

  /// Answers each request with so many bytes.
  private struct Answers: InlineHandler {
    let length: Int

    func makeConnectionState() {}

    func respond(
      head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
    ) -> InlineOutcome {
      let content = [UInt8](repeating: 0x61, count: length)
      response.start(.ok)
      response.finish(bytes: content.span)
      return .answered
    }
  }

  /// Goes on by the same step with every look at it.
  private final class SteppingClock: MonotonicClock {
    private let nanoseconds = Atomic<UInt64>(1_000_000_000)
    private let step: UInt64

    init(step: UInt64) { self.step = step }

    func now() -> MonotonicInstant {
      MonotonicInstant(nanoseconds: nanoseconds.add(step, ordering: .relaxed).newValue)
    }

    func sleep(for duration: Duration) async throws { throw CancellationError() }
  }

  private struct Pages: PageCache {
    let areThere: Bool

    func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool { areThere }

    func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError) {}
  }

  private let directory: TemporaryDirectory
  private let file: SharedDescriptor
  private let turnLength = HTTPServerConfiguration(addresses: []).turnLength
  private let sliceLength = Int64(HTTPServerConfiguration(addresses: []).sliceLength)

  init() throws {
    directory = try TemporaryDirectory()
    let descriptor = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try descriptor.truncate(to: ByteCount(8 << 20))
    file = try SharedDescriptor(descriptor)
  }

  private func makeServices(
    step: UInt64 = 0, arePagesThere: Bool = true, answerLength: Int? = nil,
    requests: any RequestRunner = RequestTasks(Router { _ in })
  ) throws -> LoopServices {
    let context = ServerContext(
      configuration: HTTPServerConfiguration(addresses: []), clock: SteppingClock(step: step),
      wallClock: SystemWallClock(),
      makeDispatcher: { capacity in
        answerLength.map { TypedInlineDispatcher(Answers(length: $0), capacity: capacity) }
      },
      requests: requests, pageCache: Pages(areThere: arePagesThere))
    return LoopServices(
      context: context, mailbox: try LoopMailbox(), number: 0, counters: CounterBlock(), ring: nil,
      capacity: 1)
  }

  private func makeConnection() -> ClientConnection {
    ClientConnection(
      descriptor: -1, tag: ConnectionTag(index: 0, generation: ConnectionTag.Generation()), peer: .unix,
      tls: TLSSession())
  }

  /// A connection that has a head and a part of the file to send.
  private func makeSender(_ range: Range<Int64>, head: [UInt8] = Array("head".utf8)) -> ClientConnection {
    var connection = makeConnection()
    connection.file = file
    connection.output.bytes = head
    connection.output.bodyStart = head.count
    connection.output.beginFile(range)
    return connection
  }

  @Test("a turn ends with its bytes, and the next goes on where it ended", arguments: [Int64(0), 12_345])
  func bytes(start: Int64) throws {
    let range = start..<Int64(5 << 20)
    var services = try makeServices()
    var connection = makeSender(range)
    let line = Line()
    var turns = 0
    var sent = 0
    while true {
      services.beginTurn()
      let result = connection.send(through: line, with: &services)
      let all = line.state.current.slices.reduce(0) { $0 + $1.count }
      turns += 1
      // No turn brings more than its bytes and what one call moves besides.
      #expect(all - sent < turnLength + Int(sliceLength))
      if result == .sent { break }
      #expect(result == .yielded)
      #expect(all - sent >= turnLength)
      sent = all
    }
    let state = line.state.current
    #expect(state.head == Array("head".utf8))
    #expect(turns == Int((range.upperBound - start + Int64(turnLength) - 1) / Int64(turnLength)))
    // Without a gap and without an overlap.
    #expect(state.slices.first?.lowerBound == start && state.slices.last?.upperBound == range.upperBound)
    #expect(zip(state.slices, state.slices.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    let count = connection.sent
    #expect(count == UInt64(range.count + 4))
  }

  @Test("a turn ends with its time, however little of its bytes was sent")
  func time() throws {
    var services = try makeServices(step: Turn.time / 3)
    var connection = makeSender(0..<8 << 20)
    let line = Line()
    line.state.withLock { $0.atOnce = 1000 }
    services.beginTurn()
    let sent1 = connection.send(through: line, with: &services)
    #expect(sent1 == .yielded)
    #expect((1...3).contains(line.state.current.slices.count))
  }

  @Test("after a short response long ones leave in parts of 256 KiB and turns of 50 µs, for 10 ms")
  func shortResponses() throws {
    // Each look at the clock is 20 µs after the one before.
    var services = try makeServices(step: 20_000)
    let line = Line()
    func slices(after response: UInt64?, _ services: inout LoopServices) -> [Int] {
      line.state.withLock { $0.slices = [] }
      services.refreshTime()
      if let response { services.noteResponse(ofBytes: response) }
      services.beginTurn()
      var connection = makeSender(0..<4 << 20)
      _ = connection.send(through: line, with: &services)
      return line.state.current.slices.map(\.count)
    }
    #expect(slices(after: nil, &services) == [1 << 20])
    #expect(slices(after: 131_073, &services) == [1 << 20])
    #expect(services.turnTime == 200_000)
    #expect(slices(after: 131_072, &services) == [1 << 18, 1 << 18])
    #expect(services.turnTime == 50_000)
    for _ in 0..<500 { services.refreshTime() }
    #expect(slices(after: nil, &services) == [1 << 20])
    #expect(services.turnTime == 200_000)
  }

  @Test("an idle connection takes at most 416 bytes of its loop's table")
  func memory() {
    #expect(MemoryLayout<ClientConnection>.stride <= 416)
  }

  @Test("what the line takes in part is counted as far as it was taken, and goes on from there")
  func partial() throws {
    var services = try makeServices()
    let meter = CountingMeter()
    var connection = makeSender(100..<2_000_100)
    connection.meter = meter
    connection.beginMetering()
    let line = Line()
    for room in [0, 2, 1, 1, 5, 999_995, 0, 2_000_000] {
      line.state.withLock { $0.room = room }
      let before = line.state.current.slices.last?.upperBound ?? 100
      services.beginTurn()
      var result = connection.send(through: line, with: &services)
      while result == .yielded {
        services.beginTurn()
        result = connection.send(through: line, with: &services)
      }
      let after = line.state.current.slices.last?.upperBound ?? 100
      #expect(result == (after == 2_000_100 ? .sent : .blocked))
      #expect(after >= before)
      #expect(meter.counts.sent == Int(after - 100))
    }
    #expect(meter.counts.sent == 2_000_000)
    #expect(line.state.current.head == Array("head".utf8))
  }

  @Test("what fills no segment is kept back between the parts of a response, and never behind it")
  func corks() throws {
    var services = try makeServices()
    for (length, changes) in [(Int64(1), 0), (sliceLength, 0), (sliceLength + 1, 2), (6 << 20, 2)] {
      var connection = makeSender(0..<length)
      let line = Line()
      var result: ClientConnection.Sent
      repeat {
        services.beginTurn()
        result = connection.send(through: line, with: &services)
        #expect(line.state.current.isCorked == (result != .sent))
      } while result == .yielded
      #expect(result == .sent)
      #expect(line.state.current.changes == changes)
    }
  }

  @Test(
    "nothing leaves before its pages are there, then all that was fetched does, while the next part is read")
  func cold() throws {
    var services = try makeServices(arePagesThere: false)
    var connection = makeSender(0..<Int64(3 * turnLength))
    let line = Line()
    services.beginTurn()
    let sent2 = connection.send(through: line, with: &services)
    #expect(sent2 == .fetching)
    let pages = services.context.pages
    #expect(line.state.current.slices.isEmpty && pages.waitingCount == 1)
    // Another turn changes nothing.
    let sent3 = connection.send(through: line, with: &services)
    #expect(sent3 == .fetching)
    #expect(pages.waitingCount == 1)
    connection.didFetch(at: services.now)
    services.beginTurn()
    let sent4 = connection.send(through: line, with: &services)
    #expect(sent4 == .yielded)
    #expect(line.state.current.slices.last?.upperBound == Int64(turnLength))
    let isReadingAhead = connection.isReadingAhead
    #expect(isReadingAhead)
    // The response comes to where the part that is read ahead begins, and waits for it.
    services.beginTurn()
    let sent5 = connection.send(through: line, with: &services)
    #expect(sent5 == .fetching)
    let isAwaited = connection.didReadAhead(at: services.now, isThere: true)
    #expect(isAwaited)
    connection.didFetch(at: services.now)
    services.beginTurn()
    let sent6 = connection.send(through: line, with: &services)
    #expect(sent6 == .yielded)
    #expect(line.state.current.slices.last?.upperBound == Int64(2 * turnLength))
  }

  @Test("a file that ends before its range breaks the connection rather than end the response short")
  func shortFile() throws {
    var services = try makeServices()
    var connection = makeSender(0..<1 << 20)
    let line = Line()
    line.state.withLock { $0.fileEnd = 700_000 }
    services.beginTurn()
    let sent7 = connection.send(through: line, with: &services)
    #expect(sent7 == .broken)
    #expect(line.state.current.slices.last?.upperBound == 700_000)
  }

  @Test(
    "a paced body takes the present share with each of its parts, and tells the kernel only what has changed")
  func paces() throws {
    var services = try makeServices()
    let meter = CountingMeter()
    var connection = makeSender(0..<4 * sliceLength)
    connection.meter = meter
    connection.beginMetering()
    let line = Line()
    connection.pace(bytesPerSecond: 1000, through: line)
    connection.pace(bytesPerSecond: 1000, through: line)
    meter.setPace(500)
    services.beginTurn()
    _ = connection.send(through: line, with: &services)
    #expect(line.state.current.paces == [1000, 500])
  }

  /// Begins nothing: a test takes the steps of the handler.
  private final class Steps: RequestRunner {
    let begun = Locked<[PendingRequest]>([])

    var waitingCount: Int { 0 }
    var runningCount: Int { 0 }

    func begin(_ pending: PendingRequest) { begun.withLock { $0.append(pending) } }
  }

  /// How many bytes wait for the handler.
  private func read(_ exchange: Exchange) -> Int {
    if case .bytes(let bytes) = exchange.readBody() { bytes.count } else { 0 }
  }

  @Test(
    "of a long body a turn hands over all that has come, 1 MiB unread at most, of a short or collected one 256 KiB",
    arguments: [false, true])
  func longBody(isCollected: Bool) throws {
    let steps = Steps()
    var services = try makeServices(requests: steps)
    var connection = makeConnection()
    let line = Line()
    line.arrive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n")
    line.state.withLock { $0.arriving = [8 << 20] }
    var parts: [Int] = []
    func turn(_ work: (inout ClientConnection, inout LoopServices) -> Void) {
      services.beginTurn()
      connection.wantsTurn = false
      work(&connection, &services)
      while connection.wantsTurn {
        services.beginTurn()
        connection.wantsTurn = false
        connection.resume(through: line, with: &services)
      }
    }
    // The head comes alone, and what follows it then.
    for _ in 0..<2 { turn { $0.wake(.input, through: line, with: &$1) } }
    let exchange = try #require(steps.begun.current.first?.exchange)
    if isCollected { exchange.collectBody() }
    while parts.count < 6 {
      parts.append(read(exchange))
      turn { $0.process(exchange, through: line, with: &$1) }
    }
    #expect((262_144..<262_144 + 16_384).contains(parts[0]))
    let most = isCollected ? 262_144 : 1_048_576
    #expect(parts[1...].allSatisfy { (most..<most + 65_536).contains($0) })
    // What asks for more holds the exchange, which holds the mailbox.
    _ = services.mailbox.collectMessages()
  }

  @Test("what arrives is counted against the turn, and less than was asked for is all there is")
  func receives() throws {
    var services = try makeServices()
    var connection = makeConnection()
    let line = Line()
    line.state.withLock { $0.arriving = [100_000, 0] }
    services.beginTurn()
    connection.mayReceive = true
    var received: [ClientConnection.Received] = []
    var mayReceive: [Bool] = []
    var left: [Int] = []
    for _ in 0..<3 {
      received.append(connection.receive(through: line, upTo: 65_536, with: &services))
      mayReceive.append(connection.mayReceive)
      left.append(services.turn.bytes)
      connection.mayReceive = true
    }
    #expect(received == [.bytes(65_536), .bytes(34_464), .ended])
    #expect(mayReceive == [true, false, false])
    #expect(left == [turnLength - 65_536, turnLength - 100_000, turnLength - 100_000])
    // A peer that has closed its half is read to its end, however little comes at once.
    connection.readsToEnd = true
    line.state.withLock { $0.arriving = [7] }
    let last = connection.receive(through: line, upTo: 65_536, with: &services)
    let mayGoOn = connection.mayReceive
    #expect(last == .bytes(7) && mayGoOn)
  }

  @Test("small answers count against the turn as well, and those that it has no room for come in the next")
  func pipelined() throws {
    var services = try makeServices(answerLength: 60_000)
    var connection = makeConnection()
    let line = Line()
    for _ in 0..<100 { line.arrive("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    services.beginTurn()
    connection.wake(.input, through: line, with: &services)
    var turns = 1
    var sent = 0
    while true {
      let all = line.state.current.head.count
      #expect(all - sent <= turnLength + 61_000)
      sent = all
      let wantsTurn = connection.wantsTurn
      guard wantsTurn else { break }
      connection.wantsTurn = false
      services.beginTurn()
      connection.resume(through: line, with: &services)
      turns += 1
    }
    let requests = connection.requests
    #expect(requests == 100)
    #expect((6...7).contains(turns))
  }

  @Test("a head that comes byte by byte is answered with its last one, and its deadline runs from its first")
  func bytewise() throws {
    var services = try makeServices(answerLength: 3)
    var connection = makeConnection()
    let line = Line()
    var dues: [UInt64] = []
    var deadlines: [ConnectionMachine.Deadline] = []
    for byte in "GET / HTTP/1.1\r\nHost: h\r\n\r\n" {
      #expect(line.state.current.head.isEmpty)
      line.arrive(String(byte))
      services.beginTurn()
      connection.wake(.input, through: line, with: &services)
      _ = connection.renewDeadline(through: line, with: services)
      let (due, deadline) = (connection.timer.due, connection.deadline)
      dues.append(due)
      deadlines.append(deadline)
    }
    #expect(line.collectText().hasSuffix("\r\n\r\naaa"))
    #expect(deadlines.dropLast().allSatisfy { $0 == .head } && deadlines.last == .idle)
    #expect(Set(dues.dropLast()).count == 1)
  }

  @Test("behind a last request nothing is answered: what comes is thrown away until the client ends as well")
  func last() throws {
    var services = try makeServices(answerLength: 3)
    var connection = makeConnection()
    let line = Line()
    // More than is received at once: closing with bytes unread would reset the connection.
    let more = String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 10_000)
    line.arrive("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + more)
    services.beginTurn()
    connection.wake(.input, through: line, with: &services)
    #expect(line.collectText().split(separator: "HTTP/1.1 200", omittingEmptySubsequences: false).count == 2)
    #expect(line.state.current.hasEnded)
    _ = connection.renewDeadline(through: line, with: services)
    let (isLingering, deadline) = (connection.machine.isLingering, connection.deadline)
    #expect(isLingering && deadline == .linger)
    line.arrive("GET / HTTP/1.1\r\n")
    line.state.withLock { $0.arriving = [0] }
    // The bytes that came, and then their end.
    for _ in 0..<2 {
      services.beginTurn()
      connection.wake(.input, through: line, with: &services)
      let waits = connection.wantsTurn
      #expect(waits)
      connection.resume(through: line, with: &services)
    }
    let isClosed = connection.machine.isClosed
    #expect(isClosed)
    #expect(line.collectText() == "")
  }

  @Test("a client that falls silent within a head is told so, and let go a deadline later")
  func silent() throws {
    var services = try makeServices(answerLength: 3)
    var connection = makeConnection()
    let line = Line()
    line.arrive("GET / HT")
    services.beginTurn()
    connection.wake(.input, through: line, with: &services)
    _ = connection.renewDeadline(through: line, with: services)
    services.beginTurn()
    connection.passDeadline(through: line, with: &services)
    #expect(line.collectText().hasPrefix("HTTP/1.1 408 "))
    _ = connection.renewDeadline(through: line, with: services)
    let (isClosed, deadline) = (connection.machine.isClosed, connection.deadline)
    #expect(!isClosed && deadline == .linger)
    connection.passDeadline(through: line, with: &services)
    let isGone = connection.machine.isClosed
    #expect(isGone)
  }
}
