internal import Synchronization

/// The counts of a server since it started. All only ever grow, but for those that say what is open now.
public struct HTTPServerStatistics: Sendable, Hashable {
  /// Why a connection was not served.
  public enum Refusal: Int, CaseIterable, Sendable {
    /// ``HTTPServerConfiguration/maximumConnections``.
    case capacity
    /// ``HTTPServerConfiguration/maximumConnectionsPerAddress``.
    case address
    /// There was no place even to answer from; closed without a response.
    case overflow
    /// Its TLS handshake failed: no version or cipher in common, or no TLS at all.
    case handshake
    /// ``HTTPServerConfiguration/maximumWaitingRequests``.
    case waiting
  }

  /// Which deadline passed and ended a connection.
  public enum Deadline: Int, CaseIterable, Sendable {
    /// No request came.
    case idle
    /// A head did not become complete.
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
    /// The device took too long to read a response's content.
    case storage
  }

  /// Final responses begun, by status code.
  public internal(set) var responses: [Int: UInt64] = [:]
  /// Responses begun and not ended: bodies on their way.
  public internal(set) var activeResponses: UInt64 = 0
  /// Connections accepted, the refused ones included.
  public internal(set) var acceptedConnections: UInt64 = 0
  /// Open now, with those that are being told to come back later.
  public internal(set) var openConnections: UInt64 = 0
  /// Connections not served, by reason.
  public internal(set) var refusedConnections: [Refusal: UInt64] = [:]
  /// Connections that a deadline ended, by deadline.
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

  /// Nothing counted.
  public init() {}

  private static func difference(_ more: UInt64, _ less: UInt64) -> UInt64 { more > less ? more - less : 0 }

  mutating func add(_ block: CounterBlock) {
    for status in 100..<100 + Counter.responseCount {
      let count = block.value(Counter.responses(status))
      if count > 0 { responses[status, default: 0] += count }
    }
    // Read without an order that every processor keeps: a difference may be below zero for a moment.
    let ended = block.value(Counter.responsesEnded)
    activeResponses += Self.difference(block.value(Counter.responsesBegun), ended)
    let closed = block.value(Counter.closed)
    let accepted = block.value(Counter.accepted)
    acceptedConnections += accepted
    openConnections += Self.difference(accepted, closed)
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

/// A histogram of durations. The bounds are powers of two in nanoseconds, from 16 µs to 17 s, so that finding
/// one takes a single instruction.
public struct LatencyHistogram: Sendable, Hashable {
  private static let firstShift = 14
  static let bucketCount = 22

  /// Upper bounds of all buckets but the last, in nanoseconds; ascending.
  public static var bounds: [UInt64] { (0..<bucketCount - 1).map { 1 << UInt64(firstShift + $0) } }

  /// One count for each bound, of what took at most so long and longer than the bound before, and one for
  /// what took longer than the last.
  public internal(set) var counts = [UInt64](repeating: 0, count: bucketCount)
  /// Nanoseconds of all together.
  public internal(set) var sum: UInt64 = 0

  /// Everything that was measured: the sum of ``counts``.
  public var total: UInt64 { counts.reduce(0, +) }

  /// Nothing measured.
  public init() {}

  static func bucket(_ nanoseconds: UInt64) -> Int {
    let bits = 64 - (max(nanoseconds, 1) - 1).leadingZeroBitCount
    return min(max(bits - firstShift, 0), bucketCount - 1)
  }
}

/// The counters of a loop; each number is a place in a ``CounterBlock``.
enum Counter {
  /// By status code, from 100 on.
  static func responses(_ status: Int) -> Int { status - 100 }
  static let responseCount = 900

  static let accepted = 900
  static let closed = 901
  static let responsesBegun = 902
  static let responsesEnded = 903
  static let bytesSent = 904
  static let bytesReceived = 905
  static let abortedBodies = 906
  static let firstByteNanoseconds = 907
  static let acceptPauses = 908

  /// In the order of ``HTTPServerStatistics/Refusal``.
  static let refusals = 910
  /// In the order of ``HTTPServerStatistics/Deadline``.
  static let deadlines = 920
  /// One for each bound of ``LatencyHistogram``, and one for what lies beyond the last.
  static let firstByte = 930

  static let count = firstByte + LatencyHistogram.bucketCount
}

/// The counters of one loop. Only its thread adds, so that adding is no more than a load and a store; any
/// thread may read.
// Unchecked: the words are atomic. Safe although it holds a pointer: it owns the memory and checks every
// position.
@safe
final class CounterBlock: @unchecked Sendable {
  private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    unsafe words = .allocate(capacity: Counter.count)
    for position in 0..<Counter.count { unsafe (words + position).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe words.deinitialize(count: Counter.count)
    unsafe words.deallocate()
  }

  /// For the loop's thread only.
  @inline(__always)
  func add(_ position: Int, by count: UInt64 = 1) {
    precondition(position >= 0 && position < Counter.count)
    let value = unsafe words[position].load(ordering: .relaxed)
    unsafe words[position].store(value &+ count, ordering: .relaxed)
  }

  func value(_ position: Int) -> UInt64 {
    precondition(position >= 0 && position < Counter.count)
    return unsafe words[position].load(ordering: .relaxed)
  }
}
