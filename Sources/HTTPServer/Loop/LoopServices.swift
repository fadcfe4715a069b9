internal import CoreTypes
import HTTPParsing

/// The services that the connections of one loop share: its clock, the turn that runs, the parser, the memory
/// that they are read and written through, the inline handler, the page cache, and the counters. Only the
/// loop's thread touches them.
struct LoopServices: ~Copyable {
  /// Bytes one recv(2) may bring, and bytes of responses written on the loop before they are sent.
  static let scratchLength = 65_536

  let context: ServerContext
  let mailbox: LoopMailbox
  /// The loop's place among the server's, from 0.
  let number: Int
  let counters: CounterBlock
  /// Where access records go; nil without a recorder.
  let ring: AccessRing?
  let unownedRing: UnownedRing?
  private let usesSystemClock: Bool
  let dispatcher: InlineDispatcher?
  /// For the head being read now; an incomplete head keeps its parser with its connection.
  var parser = RequestParser()
  let limits: RequestLimits
  /// A request that is handed to the async handler once the content that came with its head is.
  var deferred: PendingRequest?
  var isDraining = false
  var records: RecordPool
  /// Closures that give up the waits for parts of files, by the index of the connection that waits.
  var partWaits: [Int: @Sendable () -> Void] = [:]
  /// The file ranges that were in the page cache lately.
  var pageCacheHints = PageCacheHints()
  let receiveScratch: ScratchBuffer
  let sendScratch: ScratchBuffer
  /// The rest of the turn of the connection that is served now.
  var turn = Turn()
  /// Nanoseconds of the context's clock at the last wake-up.
  private(set) var now: UInt64
  /// The same at the last look.
  private var lastLook: UInt64
  private(set) var date: HTTPDateField
  private var dateDue: UInt64 = 0
  /// The wall clock's milliseconds at ``wallBaseInstant``.
  private var wallBase: Int64
  private var wallBaseInstant: UInt64
  /// Requests of this loop.
  var sequence: UInt64 = 0
  /// Until then requests for little are expected.
  private var shortResponsesDue: UInt64 = 0

  /// With room for a request on each of `capacity` connections.
  init(
    context: ServerContext, mailbox: LoopMailbox, number: Int, counters: CounterBlock, ring: AccessRing?,
    capacity: Int
  ) {
    self.context = context
    self.mailbox = mailbox
    self.number = number
    self.counters = counters
    self.ring = ring
    unownedRing = ring.map { UnownedRing($0) }
    usesSystemClock = context.clock is SystemMonotonicClock
    dispatcher = context.makeDispatcher(capacity)
    limits = RequestLimits(context.configuration)
    records = RecordPool(capacity: capacity)
    receiveScratch = ScratchBuffer(capacity: Self.scratchLength)
    sendScratch = ScratchBuffer(capacity: Self.scratchLength)
    now = context.clock.now().nanoseconds
    lastLook = now
    let wall = context.wallClock.now()
    date = HTTPDateField(secondsSinceEpoch: wall.secondsSinceEpoch)
    wallBase = wall.millisecondsSinceEpoch
    wallBaseInstant = now
  }

  /// Looks at the clock after the loop has waited.
  mutating func refreshTime() {
    now = presentInstant()
    guard now >= dateDue else { return }
    let wall = context.wallClock.now()
    date = HTTPDateField(secondsSinceEpoch: wall.secondsSinceEpoch)
    wallBase = wall.millisecondsSinceEpoch
    wallBaseInstant = now
    let rest = 1000 - (wall.millisecondsSinceEpoch - wall.secondsSinceEpoch * 1000)
    dateDue = now + UInt64(rest) * 1_000_000
  }

  /// The wall clock's time at the last wake-up.
  var timestamp: Timestamp {
    Timestamp(millisecondsSinceEpoch: wallBase + Int64((now - wallBaseInstant) / 1_000_000))
  }

  /// The system's clock is asked without going through the existential that tests replace it by.
  mutating func presentInstant() -> UInt64 {
    lastLook = usesSystemClock ? SystemMonotonicClock().now().nanoseconds : context.clock.now().nanoseconds
    return lastLook
  }

  /// Begins at the last look at the clock: each costs as much as a hundredth of a small request, and a turn that is too short
  /// is only followed by another.
  mutating func beginTurn() {
    turn = Turn(bytes: context.configuration.turnLength, end: lastLook + turnTime)
  }

  /// Nanoseconds that one connection's turn may last, and the turns of several between two looks for events.
  var turnTime: UInt64 { areShortResponsesDue ? Turn.shortTime : Turn.time }

  /// A response with so many bytes of content is done with. Who asks for little waits for whatever leaves when the request comes: after a
  /// short response long ones leave in shorter parts for a while.
  mutating func noteResponse(ofBytes count: UInt64) {
    if count <= Self.shortResponseLength { shortResponsesDue = now + Self.shortResponsePause }
  }

  /// Bytes of content of the longest response that counts as short.
  static let shortResponseLength: UInt64 = 131_072
  /// Nanoseconds for which another short response is expected after one.
  private static let shortResponsePause: UInt64 = 10_000_000

  private var areShortResponsesDue: Bool { now < shortResponsesDue }

  /// Whether the others are to have their turn now.
  var isTurnOver: Bool {
    mutating get { turn.bytes <= 0 || presentInstant() >= turn.end }
  }

  /// Bytes of one sendfile(2), within what the kernel moves at once.
  var sliceLength: Int {
    let length = min(max(context.configuration.sliceLength, 65_536), 0x7fff_f000)
    return areShortResponsesDue ? min(length, 262_144) : length
  }

  /// Bytes of a file that are fetched at once.
  var windowLength: Int64 { Int64(max(context.configuration.turnLength, sliceLength)) }
}

/// The bytes and the time that one connection has, over all its requests and responses, before the others
/// have their turn.
struct Turn {
  /// The length of a turn, in nanoseconds.
  static let time: UInt64 = 200_000
  /// The same while short responses are expected.
  static let shortTime: UInt64 = 50_000

  /// The number of bytes that it may still send or receive.
  var bytes = 0
  /// The instant of the loop's clock.
  var end: UInt64 = 0
}

/// A block of memory that a loop reads into, or writes into, again and again.
// Safe although it holds a pointer: it owns the memory, and its users pass the capacity along with the
// pointer.
@safe
struct ScratchBuffer: ~Copyable {
  let base: UnsafeMutablePointer<UInt8>
  let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = .allocate(capacity: capacity)
    unsafe base.initialize(repeating: 0, count: capacity)
  }

  deinit {
    unsafe base.deallocate()
  }
}
