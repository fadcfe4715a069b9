public import CoreTypes
public import Foundation

/// Reads a `text/event-stream` in the parts in which it arrives, by the rules of the WHATWG HTML standard,
/// §9.2.6. A pure value; where the bytes are split makes no difference. An event is complete with the empty
/// line after it.
public struct ServerSentEventParser: Sendable {
  /// An error that ends the reading: a line or an event of the stream is longer than this client accepts.
  public enum Refusal: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// A line has more bytes than `limit`.
    case lineTooLong(limit: ByteCount)
    /// The data of an event has more bytes than `limit`.
    case eventTooLong(limit: ByteCount)

    /// A sentence without a full stop.
    public var description: String {
      switch self {
      case .lineTooLong(let limit): "a line of the event stream is longer than \(limit.rawValue) bytes"
      case .eventTooLong(let limit): "an event of the stream has more than \(limit.rawValue) bytes of data"
      }
    }
    /// The text of `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
  }

  /// Bytes of one line, without its end.
  public let maximumLineLength: ByteCount
  /// Bytes of one event's data.
  public let maximumDataLength: ByteCount
  /// The delay that the stream asked for with `retry`; nil when it did not.
  public private(set) var retryDelay: Duration?

  private var line: [UInt8] = []
  private var name: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  private var lastIdentifier = ""
  /// The last byte was a carriage return, which ended a line: a line feed now belongs to it.
  private var afterCarriageReturn = false
  private var isFirstLine = true

  /// A parser at the beginning of a stream.
  public init(maximumLineLength: ByteCount = .mebibytes(1), maximumDataLength: ByteCount = .mebibytes(1)) {
    self.maximumLineLength = maximumLineLength
    self.maximumDataLength = maximumDataLength
  }

  /// The events that `bytes` complete. A parser that has thrown must not be used again.
  public mutating func read(_ bytes: Span<UInt8>) throws(Refusal) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for index in bytes.indices {
      let byte = bytes[index]
      let wasAfterCarriageReturn = afterCarriageReturn
      afterCarriageReturn = byte == 0x0D
      switch byte {
      case 0x0A where wasAfterCarriageReturn: continue
      case 0x0A, 0x0D:
        if let event = try endLine() { events.append(event) }
      default:
        guard line.count < maximumLineLength.rawValue else { throw .lineTooLong(limit: maximumLineLength) }
        line.append(byte)
      }
    }
    return events
  }

  private mutating func endLine() throws(Refusal) -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    guard !line.isEmpty else { return dispatch() }
    let colon = line.firstIndex(of: 0x3A)
    let field = line[..<(colon ?? line.endIndex)]
    var value = colon.map { line[($0 + 1)...] } ?? []
    if value.first == 0x20 { value.removeFirst() }
    try process(field: field, value: value)
    return nil
  }

  /// An empty field is a comment; fields that are not known are ignored.
  private mutating func process(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) throws(Refusal) {
    switch String(decoding: field, as: UTF8.self) {
    case "event": name = Array(value)
    case "data":
      guard data.count + value.count < maximumDataLength.rawValue else {
        throw .eventTooLong(limit: maximumDataLength)
      }
      if hasData { data.append(0x0A) }
      data += value
      hasData = true
    case "id" where !value.contains(0): lastIdentifier = String(decoding: value, as: UTF8.self)
    case "retry":
      guard (1...9).contains(value.count), value.allSatisfy({ (0x30...0x39).contains($0) }),
        let milliseconds = Int64(String(decoding: value, as: UTF8.self))
      else { return }
      retryDelay = .milliseconds(milliseconds)
    default: break
    }
  }

  private mutating func dispatch() -> ServerSentEvent? {
    defer {
      name.removeAll()
      data.removeAll()
      hasData = false
    }
    guard hasData else { return nil }
    return ServerSentEvent(
      name: name.isEmpty ? "message" : String(decoding: name, as: UTF8.self), data: data,
      lastIdentifier: lastIdentifier)
  }
}

/// One event of a `text/event-stream`.
public struct ServerSentEvent: Hashable, Sendable {
  /// `message` when the stream named none.
  public var name: String
  /// The `data` lines, joined by line feeds.
  public var data: [UInt8]
  /// The identifier in force when the event came; empty before the first.
  public var lastIdentifier: String

  /// An event that a test or another source makes.
  public init(name: String, data: [UInt8], lastIdentifier: String = "") {
    self.name = name
    self.data = data
    self.lastIdentifier = lastIdentifier
  }
}
