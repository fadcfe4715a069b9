public import CoreTypes
public import HTTPParsing

/// The record of one request and its response, in a fixed number of bytes.
public struct AccessRecord: Sendable {
  /// Bytes of a path that are kept.
  public static let pathCapacity = 160

  /// The number behind ``HTTPRequest/id`` and ``InlineResponse/requestIdentifier``.
  public internal(set) var identifier: UInt64 = 0
  /// When the head was complete.
  public internal(set) var start = Timestamp(millisecondsSinceEpoch: 0)
  /// The method, if it is one of those that handlers tell apart.
  public internal(set) var method = RequestHead.Method.other
  /// 0 when the connection ended before there was a response.
  public internal(set) var status: UInt16 = 0
  /// False when the connection ended before the response did.
  public internal(set) var isComplete = false
  /// The peer, or the client that the handler named in its place.
  public internal(set) var peer = PeerAddress.unix
  /// Nanoseconds from the complete head to the first bytes of the response that left; 0 when none did.
  public internal(set) var timeToFirstByte: UInt64 = 0
  /// Nanoseconds from the complete head to the end of the response.
  public internal(set) var duration: UInt64 = 0
  /// Bytes of the response behind its head that the kernel took.
  public internal(set) var bytesSent: UInt64 = 0
  /// Bytes of content that came with the request.
  public internal(set) var bytesReceived: UInt64 = 0
  /// The path was longer than ``pathCapacity``.
  public internal(set) var isPathCut = false
  private var pathLength: UInt8 = 0
  private var pathBytes = InlineArray<160, UInt8>(repeating: 0)

  init() {}

  /// The path as the client sent it, percent-encoded, without the query. Empty when the head was refused.
  public var path: String {
    withPath { path in
      unsafe path.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Calls `body` with the bytes of ``path``: ASCII, without control characters, quotes or backslashes.
  public func withPath<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    body(pathBytes.span.extracting(0..<Int(pathLength)))
  }

  /// The request's identifier as ``HTTPRequest/id`` spells it.
  public var identifierText: String { AccessRecord.text(of: identifier) }

  /// An identifier as logs and responses spell it: in base 36.
  public static func text(of identifier: UInt64) -> String { String(identifier, radix: 36) }

  /// Appends what ``text(of:)`` says, without making a text of it.
  public static func appendText(of identifier: UInt64, to bytes: inout [UInt8]) {
    let start = bytes.count
    var rest = identifier
    repeat {
      let digit = UInt8(truncatingIfNeeded: rest % 36)
      bytes.append(digit < 10 ? ASCII.zero + digit : UInt8(ascii: "a") + digit - 10)
      rest /= 36
    } while rest > 0
    bytes[start...].reverse()
  }

  mutating func setPath(_ bytes: Span<UInt8>, at range: Range<Int>) {
    let count = min(range.count, AccessRecord.pathCapacity)
    isPathCut = range.count > count
    pathLength = UInt8(count)
    unsafe withUnsafeMutableBytes(of: &pathBytes) { target in
      unsafe bytes.extracting(range.lowerBound..<range.lowerBound + count).withUnsafeBytes { source in
        unsafe target.copyMemory(from: source)
      }
    }
  }

  mutating func clearPath() {
    pathLength = 0
    isPathCut = false
  }
}

/// Receives the records of a server's requests: a ring for each loop, which the recorder drains on a thread
/// of its own, often enough. A loop never waits for that: a record that finds its ring full is dropped and
/// counted.
public protocol ExchangeRecorder: Sendable {
  /// Records that the ring of each loop has room for; rounded up to a power of two.
  var ringCapacity: Int { get }

  /// Called once, by ``HTTPServer/start()``, before the first connection. The rings stay valid for as long as
  /// they are held, and keep what was not drained when the server ended.
  func begin(_ rings: [AccessRing])
}
