public import CoreTypes
public import SystemCalls

/// The final response of an ``AsyncHandler``: a status, fields and a ``ResponseBody``.
///
/// The server adds `Date`, `Content-Length` or `Transfer-Encoding`, and `Connection`; what the handler sets
/// of these is replaced, but `Connection: close` closes the connection. To `HEAD` it sends the head of this
/// response and leaves the body out.
///
/// ```swift
/// var response = HTTPResponse(
///   status: .ok, headers: ["Content-Type": "text/plain"], body: .bytes(Array("hello\n".utf8)))
/// response.pacing = 1_000_000  // bytes per second
/// ```
public struct HTTPResponse: Sendable {
  /// The status of the final response: 200 or more.
  public var status: HTTPStatus
  /// Fields of the handler. One with an invalid name or value is left out.
  public var headers: HTTPFields
  /// The content.
  public var body: ResponseBody
  /// Bytes per second at which the kernel lets this response leave (`SO_MAX_PACING_RATE`); nil for as fast as
  /// it can.
  public var pacing: UInt64?
  /// The client behind a proxy, when the peer is the proxy: goes into the access record in place of the peer.
  public var client: PeerAddress?
  /// Where it is there, this is no answer yet, and nothing of it is sent: the handler is asked again.
  public var postponement: (any ResponsePostponement)?
  /// The handler has given the request up because its task was cancelled. Where the client has ended its side, the connection
  /// ends without a response, and none is counted; otherwise this one is sent.
  public var isAbandonment = false

  /// A response as fast as its client takes it, for the peer itself.
  public init(status: HTTPStatus, headers: HTTPFields = [:], body: ResponseBody = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// An event that a request waits for when it is answered later, perhaps minutes later. It needs no task
/// meanwhile: a task keeps all the memory that it ever needed. A handler answers with a response that carries
/// a postponement, and its task ends. Once the postponement is over, the handler is asked the same request
/// again, in a task of its own, with ``HTTPRequest/postponement``.
///
/// ```swift
/// if let wait = request.postponement as? NewsWait { return .json(wait.news) }
/// guard let news = try await look() else {
///   var response = HTTPResponse(status: .noContent)
///   response.postponement = waits.add()
///   return response
/// }
/// ```
public protocol ResponsePostponement: AnyObject, Sendable {
  /// The handler's task has ended. `resume` has the handler asked again; it is to be called once, as soon as there is reason to, which
  /// may be at once.
  func begin(_ resume: @escaping @Sendable () -> Void)
  /// The peer may not want the answer any more, or the server ends: it is over. Comes on a loop's thread, any number of times, also
  /// before ``begin(_:)``.
  func cancel()
}

/// The content of a response as a value; the server moves the bytes.
public enum ResponseBody: Sendable {
  /// No content.
  case none
  /// Content that is in memory.
  case bytes([UInt8])
  /// A part of a file, sent by sendfile(2). The range must lie within the file: a file that turns out shorter
  /// ends the connection, never pads; so do bytes that do not come (``FilePresence``). `meter` learns of the bytes as they leave.
  case file(SharedDescriptor, Range<Int64>, meter: (any BodyMeter)? = nil)
  /// Bytes and parts of files one after the other, such as `multipart/byteranges` (see ``MultipartRanges``).
  case parts([BodyPart], meter: (any BodyMeter)? = nil)
  /// Content that the closure makes while it is sent, in the task that ran the handler. Chunked unless the
  /// length is known; then exactly that many bytes must be written. When the closure throws, the connection
  /// is closed short of the end, so that the client knows. The closure may wait as long as it likes between
  /// writes.
  case stream(contentLength: Int64? = nil, @Sendable (ResponseWriter) async throws -> Void)
}

/// A piece of a ``ResponseBody/parts(_:meter:)`` body.
public enum BodyPart: Sendable {
  /// Bytes that are in memory.
  case bytes([UInt8])
  /// A part of a file, in which the range must lie.
  case file(SharedDescriptor, Range<Int64>)

  /// Bytes of the part.
  public var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range): range.upperBound - range.lowerBound
    }
  }
}

/// An open file that several responses send from at once; closed when the last of them and the owner let go.
public final class SharedDescriptor: Sendable {
  let descriptor: FileDescriptor
  /// The length when it was opened. Content files never change, so it stays true.
  public let length: ByteCount
  /// Knows which of the file's bytes are there; nil where all are.
  public let presence: (any FilePresence)?

  /// Takes the descriptor over. Throws ``SystemError`` when the file's length cannot be read.
  public init(
    _ descriptor: consuming FileDescriptor, presence: (any FilePresence)? = nil
  ) throws(SystemError) {
    let status = try descriptor.status()
    length = status.length
    self.presence = presence
    self.descriptor = descriptor
  }
}

/// Observes the sending of a response body: its beginning, the bytes that the kernel has taken, as it takes
/// them, and its end. Called on a loop's thread: return at once.
public protocol BodyMeter: AnyObject, Sendable {
  /// A body with content that carries this meter is about to be sent. Not for `HEAD`, nor for an empty range.
  func didBegin()
  /// The kernel has taken `count` more bytes of the body.
  func didSend(_ count: Int)
  /// Once for each ``didBegin()``, whether the body was sent to its end or not.
  func didEnd()
  /// Stands for the other three together, where a body is over as soon as it begins.
  func didSendAtOnce(_ count: Int)
  /// Bytes a second at which a body that is paced goes on; asked on the loop before each part of it, so that its share
  /// follows the other bodies'. Nil for one that keeps the pace of its beginning.
  var pace: UInt64? { get }
}

extension BodyMeter {
  /// Does nothing.
  public func didBegin() {}
  /// Does nothing.
  public func didEnd() {}
  /// Nil.
  public var pace: UInt64? { nil }
  /// Calls ``didBegin()``, ``didSend(_:)`` and ``didEnd()``.
  public func didSendAtOnce(_ count: Int) {
    didBegin()
    didSend(count)
    didEnd()
  }
}
