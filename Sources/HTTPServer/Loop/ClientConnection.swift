import Files
import HTTPParsing
import SystemCalls

/// One connection: within the turn that its loop gives it, it receives, parses, asks the handlers and sends, through its
/// socket or what stands for one. It needs no epoll and knows no other connection.
///
/// It does what its ``ConnectionMachine`` asks (`+Actions`), input first (`+Receiving`, `+Requests`, `+Handlers`), then output
/// (`+Responses`, `+Sending`, `+Pages`), over TLS too (`+Secure`); it says which deadline runs (`+Time`) and keeps the records of what
/// it did (`+Records`). After each call its loop looks at three things: whether it is closed, whether it
/// ``wantsTurn``, and whether its deadline has moved.
///
/// Idle connections hold no buffers: input and output live in the loop's own scratch memory unless something is left over.
struct ClientConnection: ~Copyable {
  var descriptor: Int32
  /// The place of the request's record in the loop's ``RecordPool``; -1 while no request is in progress.
  var record: Int32 = -1
  /// Its place in the loop's table, and how often that was given away.
  var tag: ConnectionTag
  let peer: PeerAddress

  /// A head that has come in part.
  var partial: SuspendedParser?
  /// Input not parsed yet: a part of a head, or requests that wait for their turn.
  var input: [UInt8] = []
  var requests = 0
  /// Bytes of content still to come; those seen so far if chunked.
  var bodyCount: Int64 = 0
  var chunks = ChunkedBodyParser(lineLimit: 0)
  /// Content came of which its reader was not told yet.
  var holdsBodyBack = false
  /// The low half of the time when a connection over a Unix socket was taken, in ticks since the boot; 0 for others. It stands where the
  /// table has four bytes left.
  private let acceptedTicks: UInt32

  var output = OutputState()
  var exchange: Exchange?
  /// The file and the meter of the last inline response, kept so that the next response from the same costs
  /// no counting.
  var file: SharedDescriptor?
  var meter: (any BodyMeter)?
  /// Bytes per second the kernel lets leave; `.max` is no bound.
  var pacing = UInt64.max

  /// Bytes of content that ever arrived.
  var received: UInt64 = 0
  /// ``received`` when the request's own content began.
  var bodyBegan: UInt64 = 0
  /// Bytes that had come or gone when the running deadline's rate began to be measured.
  var windowBase: UInt64 = 0
  /// Bytes the kernel has ever taken.
  var sent: UInt64 = 0
  /// ``sent`` when the response's head is out; `.max` before there is a response.
  var bodyFrom = UInt64.max
  var sentAtFirstByte: UInt64 = 0
  var recordStart: UInt64 = 0

  var timer = TimerEntry()
  var tls: TLSSession
  /// The status that refuses a TLS connection beyond a bound once its handshake is complete.
  var refusalAfterHandshake: HTTPStatus?
  var machine: ConnectionMachine
  var deadline = ConnectionMachine.Deadline.none

  // What takes a byte stands together: anywhere else each would take eight, of every idle connection.

  var minorVersion: UInt8 = 1
  /// An edge was seen and nothing since said that there is nothing more.
  var mayReceive = false
  /// A short receive does not say that there is nothing more: the peer has closed its sending half, or
  /// OpenSSL holds bytes.
  var readsToEnd = false
  /// The client has said that no request follows.
  var isLastRequest = false
  /// One of the configured maximum; a connection beyond it is not.
  var isCounted = true
  /// One of those that its address may have.
  var isAddressCounted = false
  var isChunked = false
  /// The async handler's request is `HEAD`.
  var isHead = false
  /// A body that carries ``meter`` is being sent.
  var isMetered = false
  /// A part of a file is being read ahead, for this response or one before.
  var isReadingAhead = false
  /// The kernel keeps back a partial segment until the response is out (`TCP_CORK`).
  var isCorked = false
  var awaitsFirstByte = false
  /// Something happened for which the running deadline starts anew.
  var isTouched = true
  /// There is something to do for which its turn was too short, or which comes after the requests of others.
  var wantsTurn = false
  /// Waits in the loop's ready list for its next turn.
  var isReady = false

  var isRecording: Bool { record >= 0 }

  /// When a connection over a Unix socket was taken, in ticks since the boot, within 497 days of it.
  var accepted: UInt64 {
    let now = ProcessEntry.now()
    return now - UInt64(UInt32(truncatingIfNeeded: now) &- acceptedTicks)
  }

  init(descriptor: Int32, tag: ConnectionTag, peer: PeerAddress, tls: consuming TLSSession) {
    self.descriptor = descriptor
    self.tag = tag
    self.peer = peer
    acceptedTicks = peer.family == .unix ? UInt32(truncatingIfNeeded: ProcessEntry.now()) : 0
    machine = ConnectionMachine(input: tls.isActive ? .handshake : .idle)
    readsToEnd = tls.isActive
    self.tls = tls
  }
}

/// The parser of a head that is not complete. Most heads arrive whole, so that connections need no parser of
/// their own.
final class SuspendedParser {
  var parser: RequestParser?

  init(_ parser: consuming RequestParser) {
    self.parser = consume parser
  }
}

/// The part of a response that remains to be sent.
struct OutputState {
  /// Bytes to be sent before anything else, from ``sent`` on.
  var bytes: [UInt8] = []
  var sent = 0
  /// The bytes in ``bytes`` count for the meter from here on; beyond their count, none do.
  var bodyStart = 0
  /// Then this part of the connection's ``ClientConnection/file``.
  var fileOffset: Int64 = 0
  var fileEnd: Int64 = 0
  /// Then these, the last one first.
  var parts: [BodyPart] = []
  /// Up to here its pages were fetched for this response; 0 where none had to be.
  var fetchedEnd: Int64 = 0
  /// The response waited here for what was fetched, and goes on from here in any case; -1 once it has.
  var fetchedStart: Int64 = -1
  /// Until then what was fetched counts as being in memory.
  var fetchedDue: UInt64 = 0
  /// Being read, or read, while what comes before it is sent.
  var ahead: Range<Int64> = 0..<0
  /// After the parts comes what a handler streams.
  var isStream = false
  var isChunked = false
  var streamEnd: ExchangeState.StreamEnd?
  /// Waits for pages of the file.
  var isFetching = false

  /// Goes on with a part of another file, or of the same one.
  mutating func beginFile(_ range: Range<Int64>) {
    fileOffset = range.lowerBound
    fileEnd = range.upperBound
    fetchedEnd = 0
    fetchedStart = -1
    ahead = 0..<0
  }

  var hasMoreThanBytes: Bool { fileOffset < fileEnd || !parts.isEmpty }
}
