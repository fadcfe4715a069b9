public import CoreTypes
import HTTPParsing
public import SystemCalls

/// Where an ``HTTPServer`` listens and every bound it keeps. The defaults suit a service on one machine.
///
/// The properties come in groups: addresses and connections; bounds of a request; deadlines and rates; bytes
/// moved at once; what is answered and recorded. Byte bounds include their line ends; a request beyond a
/// bound is answered with the status that the property names. The server copies the configuration when it is
/// made.
///
/// ```swift
/// var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "::1", port: 8080)])
/// configuration.maximumBodyLength = .mebibytes(64)
/// configuration.idleDeadline = .seconds(30)
/// configuration.tls = TLSConfiguration(
///   addresses: [.tcp(host: "::", port: 8443)], certificateFile: "/etc/ssl/pull.pem",
///   keyFile: "/etc/ssl/pull.key")
/// ```
public struct HTTPServerConfiguration: Sendable {
  /// Where plain HTTP is spoken.
  public var addresses: [ServerAddress]
  /// Where and how TLS is spoken; nil for plain HTTP only.
  public var tls: TLSConfiguration?
  /// Sockets that the service manager bound before it started this process. They are listened on as they are,
  /// beside the addresses, and shared by all loops; draining leaves connections that wait there to the next
  /// process, and their files alone.
  public var inherited: [InheritedSocket] = []
  /// Event loops, each a thread with its own listening sockets; 0 means one per processor.
  public var loops = 0
  /// Connections of the whole server, idle ones included; those beyond are answered 503 with `Retry-After`
  /// and closed. Once half of them are open, so is each whose response has `Retry-After`.
  public var maximumConnections = 4096
  /// Connections of one address, counted by the whole address in version 4 and by its first 64 bits in
  /// version 6; those beyond are answered 503 like those beyond ``maximumConnections``. 0 is no limit. Unix
  /// sockets have no addresses.
  public var maximumConnectionsPerAddress = 256
  /// Addresses that may have as many connections as there are: those of proxies, which stand for many.
  public var unlimitedAddresses: [PeerNetwork] = [.loopback4, .loopback6]
  /// listen(2)'s backlog.
  public var backlog: Int32 = 1024

  /// Bytes of a request line with its line end; a longer one is answered 414. At most ``maximumHeadLength``.
  public var maximumRequestLineLength = 8192
  /// Bytes of a request head, from the request line to the empty line; a longer one is answered 431. At most
  /// 65,535.
  public var maximumHeadLength = 16_384
  /// Header fields of a request, at most ``RequestHead/fieldCapacity``; more are answered 431.
  public var maximumFields = 64
  /// The largest request body, announced or chunked; a larger one is answered 413 before a handler sees it,
  /// or cut off.
  public var maximumBodyLength = ByteCount.gibibytes(4)
  /// Bytes of one chunk-size line with its extensions, and of a trailer section.
  public var maximumChunkLineLength = 4096
  /// Unread body bytes at which the server stops reading the socket; once 256 KiB of a body have come whose
  /// reader does not collect it under a reservation, 1 MiB where that is more.
  public var bodyBufferLength = 262_144
  /// Unsent bytes of a streamed response at which its writer waits.
  public var streamBufferLength = 262_144
  /// Requests of the whole server that the ``AsyncHandler`` has not begun with; one beyond is answered 503 with
  /// `Retry-After`, and its connection is closed. What the ``InlineHandler`` answers never waits.
  public var maximumWaitingRequests = 1024
  /// Requests answered on one connection before it is closed.
  public var maximumRequestsPerConnection = 1_000_000

  /// From a connection's or a request's first byte to its complete head; from a TLS connection to its
  /// handshake's end.
  public var headDeadline = Duration.seconds(15)
  /// Between requests of a kept-alive connection, and before the first.
  public var idleDeadline = Duration.seconds(60)
  /// The time over which ``minimumReceiveRate`` is averaged, while a body that a handler wants is arriving.
  public var bodyDeadline = Duration.seconds(30)
  /// Bytes per second of a request body; a client that sends less is cut off. At least one byte in
  /// ``bodyDeadline``.
  public var minimumReceiveRate: UInt64 = 256
  /// The time over which ``minimumSendRate`` is averaged, while a response waits for its client to take it.
  public var sendDeadline = Duration.seconds(60)
  /// Bytes per second of a response that its client acknowledges; a client that takes less is reset. For a
  /// response with a pace, at most half of that pace. At least one byte in ``sendDeadline``.
  public var minimumSendRate: UInt64 = 1024
  /// For a device to bring what a response sends next into memory; then the connection is closed.
  public var storageDeadline = Duration.seconds(60)
  /// After a response that ends the connection: how long the peer may take to close its side. In a drain: how
  /// long a connection that has asked for nothing yet may take to ask, and how long a client may send nothing of a body that has
  /// begun, if that is shorter than ``bodyDeadline``. From a client's end of its sending half: how long a handler may give nothing
  /// until it is cancelled.
  public var lingerDeadline = Duration.seconds(2)
  /// From ``HTTPServer/drain()`` until what is still in progress is closed.
  public var drainDeadline = Duration.seconds(10)

  /// Bytes that one sendfile(2) may move, between 64 KiB and 0x7ffff000. The longer, the fewer calls a long body takes; others
  /// wait for the end of one.
  public var sliceLength = 1_048_576
  /// Bytes that one connection may send and receive, over all its requests, before the others of its loop have their
  /// turn. The turn ends after 200 microseconds, too.
  public var turnLength = 1_048_576
  /// `TCP_NOTSENT_LOWAT`: unsent bytes the kernel queues for one connection before it is not writable; 0
  /// leaves the system's default.
  public var notSentLowWater: Int32 = 1_048_576
  /// Threads that bring cold pages of files into memory before a loop sends them.
  public var readers = 2

  /// Whether requests over Unix sockets have ``HTTPRequest/credentials``, at two system calls each.
  public var readsPeerCredentials = false
  /// Paths, each with a slash at its end, behind which a request's path is one segment, in which slashes and escaped slashes
  /// are the same: what protocols put there as base 64 (RFC 6960 §A.1).
  public var undividedPaths: [String] = []
  /// Permissions of a Unix socket's file.
  public var unixSocketPermissions: UInt32 = 0o660

  /// Makes the body and the fields of responses that no handler makes: a refused head, a head that did not
  /// come in time, no room for another connection, a broken inline response. The server ends the connection
  /// after them.
  public var refusal: @Sendable (HTTPStatus) -> HTTPResponse = { HTTPResponse(status: $0) }

  /// Receives a record of every request; nil for no records.
  public var recorder: (any ExchangeRecorder)?

  /// A configuration with the defaults of every other property.
  public init(addresses: [ServerAddress]) {
    self.addresses = addresses
  }
}

/// The configured deadlines in nanoseconds, computed once, because each request asks for two of them.
struct DeadlineDurations: Sendable {
  let idle: UInt64
  let head: UInt64
  let body: UInt64
  let send: UInt64
  let linger: UInt64
  let storage: UInt64
  let drain: UInt64

  init(_ configuration: HTTPServerConfiguration) {
    idle = configuration.idleDeadline.inNanoseconds
    head = configuration.headDeadline.inNanoseconds
    body = configuration.bodyDeadline.inNanoseconds
    send = configuration.sendDeadline.inNanoseconds
    linger = configuration.lingerDeadline.inNanoseconds
    storage = configuration.storageDeadline.inNanoseconds
    drain = configuration.drainDeadline.inNanoseconds
  }
}

extension Duration {
  /// At least one, at most a hundred years.
  fileprivate var inNanoseconds: UInt64 {
    let seconds = min(max(components.seconds, 0), 3_155_760_000)
    return max(1, UInt64(seconds) * 1_000_000_000 + UInt64(max(0, components.attoseconds) / 1_000_000_000))
  }
}

extension RequestLimits {
  init(_ configuration: HTTPServerConfiguration) {
    self.init(
      requestLineLength: configuration.maximumRequestLineLength, headLength: configuration.maximumHeadLength,
      fields: configuration.maximumFields)
  }
}
