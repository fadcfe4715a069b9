internal import CLinux
internal import Glibc
import HTTPParsing

// Safe although it holds a pointer: the loop makes it around its own output buffer, lends it for one call,
// and every write is checked against the capacity; being noncopyable it cannot outlive the call.
/// The response of an ``InlineHandler``, written straight into the loop's output buffer: ``start(_:)``,
/// fields, one of the `finish` methods. The server adds `Date`, `Content-Length` and `Connection`, and leaves
/// the body out for `HEAD`.
///
/// A head beyond ``capacity`` bytes, or a field value with a control character, makes the whole response a
/// 500.
@safe
public struct InlineResponse: ~Copyable {
  /// How far the head has come.
  enum State {
    /// Fields may be added.
    case unfinished
    /// The head is whole: the response can be sent.
    case finished
    /// It has what no response may have, or is too long; the client gets 500.
    case invalid
  }

  /// The bytes that follow the head.
  enum Content {
    /// None but those that stand behind the head already.
    case none
    /// This part of the file.
    case file(Range<Int64>)
    /// Pieces of the file with text between them, for several ranges.
    case parts([BodyPart])
  }

  private let base: UnsafeMutablePointer<UInt8>
  /// Bytes that head and inline body bytes may take.
  public let capacity: Int
  private(set) var count = 0
  private(set) var state = State.unfinished
  private(set) var content = Content.none
  private(set) var status = HTTPStatus.ok
  let closes: Bool
  /// Bytes up to the content.
  private(set) var headLength = 0
  private(set) var pacing = UInt64.max
  /// The number behind ``AccessRecord/identifierText``: for a log, or a field that a client may quote.
  public let requestIdentifier: UInt64
  /// The address at the other end of the connection.
  public let peer: PeerAddress
  /// The client behind a proxy, when ``peer`` is the proxy: goes into the access record in place of ``peer``.
  public var client: PeerAddress?
  private let date: HTTPDateField
  private let isHead: Bool
  private let minorVersion: UInt8
  private let strictTransportSeconds: Int64?
  /// The file sent last on this connection; the same one again costs no reference counting.
  var file: SharedDescriptor?
  var meter: (any BodyMeter)?

  init(
    base: UnsafeMutablePointer<UInt8>, capacity: Int, date: HTTPDateField, isHead: Bool, minorVersion: UInt8,
    closes: Bool, strictTransportSeconds: Int64?, requestIdentifier: UInt64, peer: PeerAddress = .unix,
    file: consuming SharedDescriptor?,
    meter: consuming (any BodyMeter)?
  ) {
    unsafe self.base = base
    self.capacity = capacity
    self.date = date
    self.isHead = isHead
    self.minorVersion = minorVersion
    self.closes = closes
    self.strictTransportSeconds = strictTransportSeconds
    self.requestIdentifier = requestIdentifier
    self.peer = peer
    self.file = file
    self.meter = meter
  }

  /// Writes the status line; call it first, once.
  public mutating func start(_ status: HTTPStatus) {
    guard count == 0 else { return fail() }
    self.status = status
    switch status {
    case .ok: put("HTTP/1.1 200 OK\r\n")
    case .partialContent: put("HTTP/1.1 206 Partial Content\r\n")
    default:
      put("HTTP/1.1 ")
      put(Int64(status.rawValue))
      put(ASCII.space)
      put(status.reasonPhrase)
      put("\r\n")
    }
  }

  /// Adds a field line. Neither text is checked: both are literals of the program.
  public mutating func append(name: StaticString, value: StaticString) {
    put(name)
    put(": ")
    put(value)
    put("\r\n")
  }

  /// Adds a field line. A value with a control character (RFC 9110 §5.5) makes the response a 500.
  public mutating func append(name: StaticString, value: Span<UInt8>) {
    for index in value.indices where !ASCII.isFieldValue(value[index]) { return fail() }
    put(name)
    put(": ")
    put(value)
    put("\r\n")
  }

  /// Adds a field line with a decimal number.
  public mutating func append(name: StaticString, value: Int64) {
    put(name)
    put(": ")
    put(value)
    put("\r\n")
  }

  private mutating func append(name: StaticString, number prefix: StaticString, _ value: Int64) {
    put(name)
    put(": ")
    put(prefix)
    put(value)
    put("\r\n")
  }

  /// Adds whole field lines, each with its CRLF, which the handler made ahead; not checked.
  public mutating func append(lines: Span<UInt8>) {
    put(lines)
  }

  /// Adds a field line with the request's identifier, as ``HTTPRequest/id`` spells it.
  public mutating func appendRequestIdentifier(name: StaticString) {
    put(name)
    put(": ")
    putRequestIdentifier()
    put("\r\n")
  }

  /// `Content-Range: bytes 0-5/86893` of a 206.
  public mutating func appendContentRange(_ range: Range<Int64>, of length: Int64) {
    put("Content-Range: bytes ")
    put(range.lowerBound)
    put(ASCII.hyphen)
    put(range.upperBound - 1)
    put(ASCII.slash)
    put(length)
    put("\r\n")
  }

  /// `Content-Range: bytes */86893` of a 416.
  public mutating func appendUnsatisfiedContentRange(of length: Int64) {
    put("Content-Range: bytes */")
    put(length)
    put("\r\n")
  }

  /// Lets the response leave at no more than this (`SO_MAX_PACING_RATE`); without a call, and with `.max`, as
  /// fast as it can. Costs a system call where the connection's last response was paced differently.
  public mutating func pace(bytesPerSecond: UInt64) {
    pacing = bytesPerSecond
  }

  /// Ends the response without content.
  public mutating func finish() {
    finishHead(contentLength: 0)
  }

  /// Ends the response with content that is copied; head and content together must fit ``capacity``.
  public mutating func finish(bytes: Span<UInt8>) {
    finishHead(contentLength: Int64(bytes.count))
    if !isHead, !status.forbidsContent { put(bytes) }
  }

  /// Ends the response with content that is copied and names the request: its identifier, as ``HTTPRequest/id``
  /// spells it, stands between the two parts.
  public mutating func finish(bytes before: Span<UInt8>, requestIdentifierThen after: Span<UInt8>) {
    finishHead(contentLength: Int64(before.count + requestIdentifierLength + after.count))
    guard !isHead, !status.forbidsContent else { return }
    put(before)
    putRequestIdentifier()
    put(after)
  }

  /// Ends the response with a part of a file, in which `range` must lie; `meter` counts the bytes as they
  /// leave.
  public mutating func finish(
    file: SharedDescriptor, range: Range<Int64>, meter: (any BodyMeter)? = nil
  ) {
    finishHead(contentLength: range.upperBound - range.lowerBound)
    guard !isHead, !status.forbidsContent, !range.isEmpty else { return }
    if self.file !== file { self.file = file }
    if self.meter !== meter { self.meter = meter }
    content = .file(range)
  }

  /// Ends the response with bytes and parts of files, one after the other (see ``MultipartRanges``).
  public mutating func finish(parts: [BodyPart], meter: (any BodyMeter)? = nil) {
    finishHead(contentLength: parts.reduce(0) { $0 + $1.length })
    guard !isHead, !status.forbidsContent else { return }
    if self.meter !== meter { self.meter = meter }
    content = .parts(parts)
  }

  private mutating func finishHead(contentLength: Int64) {
    guard state == .unfinished, count > 0 else { return fail() }
    if !status.forbidsContent {
      put("Content-Length: ")
      put(contentLength)
      put("\r\n")
    }
    let line = date.line
    put(line.span)
    if let strictTransportSeconds {
      append(name: "Strict-Transport-Security", number: "max-age=", strictTransportSeconds)
    }
    if closes {
      put("Connection: close\r\n")
    } else if minorVersion == 0 {
      put("Connection: keep-alive\r\n")
    }
    put("\r\n")
    headLength = count
    if state == .unfinished { state = .finished }
  }

  private mutating func fail() {
    state = .invalid
  }

  private mutating func put(_ byte: UInt8) {
    guard count < capacity else { return fail() }
    unsafe base[count] = byte
    count += 1
  }

  private mutating func put(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    guard length <= capacity - count else { return fail() }
    unsafe memcpy(base + count, text.utf8Start, length)
    count += length
  }

  private mutating func put(_ bytes: Span<UInt8>) {
    let length = bytes.count
    guard length <= capacity - count else { return fail() }
    let target = unsafe base + count
    unsafe bytes.withUnsafeBufferPointer { source in
      if let start = source.baseAddress { unsafe memcpy(target, start, length) }
    }
    count += length
  }

  /// Digits of the identifier in base 36.
  private var requestIdentifierLength: Int {
    var length = 1
    var rest = requestIdentifier / 36
    while rest > 0 {
      rest /= 36
      length += 1
    }
    return length
  }

  private mutating func putRequestIdentifier() {
    let length = requestIdentifierLength
    guard length <= capacity - count else { return fail() }
    var rest = requestIdentifier
    for position in stride(from: count + length - 1, through: count, by: -1) {
      let digit = UInt8(truncatingIfNeeded: rest % 36)
      unsafe base[position] = digit < 10 ? ASCII.zero &+ digit : UInt8(ascii: "a") &+ digit &- 10
      rest /= 36
    }
    count += length
  }

  private mutating func put(_ number: Int64) {
    if number < 0 { put(ASCII.hyphen) }
    var rest = number.magnitude
    var length = 1
    var bound: UInt64 = 10
    while rest >= bound, length < 19 {
      bound &*= 10
      length += 1
    }
    guard length <= capacity - count else { return fail() }
    var position = count + length
    // Two digits for each division.
    while position >= count + 2 {
      let pair = UInt8(truncatingIfNeeded: rest % 100)
      rest /= 100
      position -= 2
      unsafe base[position] = ASCII.zero &+ pair / 10
      unsafe base[position + 1] = ASCII.zero &+ pair % 10
    }
    if position > count { unsafe base[count] = ASCII.zero &+ UInt8(truncatingIfNeeded: rest) }
    count += length
  }
}
