/// What a server has counted since it started. All counts only ever grow, but for those that say what is open now.
public struct HTTPServerStatistics: Sendable, Hashable {
  /// Why a connection was not served.
  public enum Refusal: Int, CaseIterable, Sendable {
    /// ``HTTPServerConfiguration/maximumConnections``.
    case capacity
    /// ``HTTPServerConfiguration/maximumConnectionsPerAddress``.
    case address
    /// There was not even a place from which to say so; closed without a word.
    case overflow
    /// Its TLS handshake failed: no version or cipher in common, or no TLS at all.
    case handshake
  }

  /// Which deadline passed and ended a connection.
  public enum Deadline: Int, CaseIterable, Sendable {
    case idle
    case head
    /// Content came too slowly.
    case body
    /// A response was taken too slowly.
    case send
    /// The peer did not close its side.
    case linger
    /// The drain's.
    case drain
    /// The TLS handshake took too long.
    case handshake
  }

  /// Final responses begun, by status code.
  public internal(set) var responses: [Int: UInt64] = [:]
  /// Responses begun and not ended: bodies on their way.
  public internal(set) var activeResponses: UInt64 = 0
  public internal(set) var acceptedConnections: UInt64 = 0
  /// Open now, with those that are being told to come back later.
  public internal(set) var openConnections: UInt64 = 0
  public internal(set) var refusedConnections: [Refusal: UInt64] = [:]
  public internal(set) var deadlinesPassed: [Deadline: UInt64] = [:]
  /// Bytes of responses behind their heads.
  public internal(set) var bytesSent: UInt64 = 0
  /// Bytes of requests' content.
  public internal(set) var bytesReceived: UInt64 = 0
  /// Connections reset by ``HTTPServer/abortBodies(meteredBy:)``.
  public internal(set) var abortedBodies: UInt64 = 0
  /// Times that accepting paused for want of file descriptors or memory.
  public internal(set) var acceptPauses: UInt64 = 0
  /// Access records that found their ring full.
  public internal(set) var droppedRecords: UInt64 = 0
  /// From a complete request head to the first bytes of its response that left.
  public internal(set) var timeToFirstByte = LatencyHistogram()

  public init() {}

  mutating func add(_ block: CounterBlock) {
    for status in 100..<100 + Counter.responseCount {
      let count = block.value(Counter.responses(status))
      if count > 0 { responses[status, default: 0] += count }
    }
    // What grows later is read first, so that a difference cannot fall below zero.
    let ended = block.value(Counter.responsesEnded)
    activeResponses += block.value(Counter.responsesBegun) - ended
    let closed = block.value(Counter.closed)
    let accepted = block.value(Counter.accepted)
    acceptedConnections += accepted
    openConnections += accepted - closed
    for refusal in Refusal.allCases {
      refusedConnections[refusal, default: 0] += block.value(Counter.refusals + refusal.rawValue)
    }
    for deadline in Deadline.allCases {
      deadlinesPassed[deadline, default: 0] += block.value(Counter.deadlines + deadline.rawValue)
    }
    bytesSent += block.value(Counter.bytesSent)
    bytesReceived += block.value(Counter.bytesReceived)
    abortedBodies += block.value(Counter.abortedBodies)
    acceptPauses += block.value(Counter.acceptPauses)
    timeToFirstByte.sum += block.value(Counter.firstByteNanoseconds)
    for bucket in 0..<LatencyHistogram.bucketCount {
      timeToFirstByte.counts[bucket] += block.value(Counter.firstByte + bucket)
    }
  }
}
