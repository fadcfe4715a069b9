internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// A socket that accepts connections. Each loop has its own for a TCP address; all loops share that of a Unix
/// address and one that was inherited.
final class ListeningSocket: Sendable {
  let descriptor: FileDescriptor
  let isUnix: Bool
  /// TLS is spoken here.
  let isSecure: Bool
  /// Another process may listen here next.
  let isInherited: Bool
  private let accepted = Atomic<Int>(0)

  init(_ descriptor: consuming FileDescriptor, isUnix: Bool, isSecure: Bool, isInherited: Bool = false) {
    self.descriptor = descriptor
    self.isUnix = isUnix
    self.isSecure = isSecure
    self.isInherited = isInherited
  }

  var isShared: Bool { isUnix || isInherited }

  /// Returns the number of the loop that gets the next connection, by turns.
  func nextLoop(of count: Int) -> Int {
    Int(accepted.wrappingAdd(1, ordering: .relaxed).oldValue.magnitude % count.magnitude)
  }

  /// Binds and listens. Returns the socket and the address it really has. Only those that follow the first of
  /// an address share its port; a server that runs already is not joined by accident.
  static func open(
    _ address: ServerAddress, configuration: HTTPServerConfiguration, isFirst: Bool, isSecure: Bool
  ) throws(HTTPServerError) -> (ListeningSocket, ServerAddress) {
    do {
      switch address {
      case .tcp(let host, let port):
        return try openTCP(
          host: host, port: port, configuration: configuration, isFirst: isFirst, isSecure: isSecure)
      case .unix(let path): return try openUnix(path: path, configuration: configuration, isSecure: isSecure)
      }
    } catch let error as SystemError {
      let code: HTTPServerError.Code =
        switch error.number {
        case EADDRINUSE: .addressInUse
        case EADDRNOTAVAIL: .addressInvalid
        default: .systemFailure
        }
      throw HTTPServerError(code, "cannot listen on \(address)", cause: error)
    } catch let error as HTTPServerError {
      throw error
    } catch {
      throw HTTPServerError(.systemFailure, "cannot listen on \(address): \(error)")
    }
  }

  private static func openTCP(
    host: String, port: UInt16, configuration: HTTPServerConfiguration, isFirst: Bool,
    isSecure: Bool
  ) throws -> (ListeningSocket, ServerAddress) {
    guard var target = SocketAddress(host: host, port: port) else {
      throw HTTPServerError(.addressInvalid, "not a numeric address: \(host)")
    }
    let socket = try makeSocket(target.family)
    try setOption(socket, level: SOL_SOCKET, option: SO_REUSEADDR, value: 1)
    if !isFirst { try setOption(socket, level: SOL_SOCKET, option: SO_REUSEPORT, value: 1) }
    try prepareConnections(socket, configuration: configuration)
    if target.family == AF_INET6 {
      try setOption(socket, level: Int32(IPPROTO_IPV6), option: IPV6_V6ONLY, value: 1)
    }
    try unsafe target.withPointer { (pointer, length) throws(SystemError) in
      _ = try SystemCall.run("bind") { unsafe bind(socket.number, pointer, length) }
    }
    if isFirst { try setOption(socket, level: SOL_SOCKET, option: SO_REUSEPORT, value: 1) }
    try SystemCall.run("listen") { listen(socket.number, configuration.backlog) }
    let bound = try SocketAddress(localOf: socket.number)
    return (ListeningSocket(socket, isUnix: false, isSecure: isSecure), .tcp(host: host, port: bound.port))
  }

  private static func openUnix(
    path: String, configuration: HTTPServerConfiguration, isSecure: Bool
  ) throws -> (ListeningSocket, ServerAddress) {
    guard var target = SocketAddress(unixPath: path) else {
      throw HTTPServerError(.addressInvalid, "too long for a Unix socket: \(path)")
    }
    let isAbstract = path.hasPrefix("@")
    let socket = try makeSocket(AF_UNIX)
    // The file of a process that was killed is in the way; one at which a process listens is left alone.
    if !isAbstract, UnixSocket.isAbandoned(path) {
      try SystemCall.run("unlink", subject: path) { unsafe unlink(path) }
    }
    try unsafe target.withPointer { (pointer, length) throws(SystemError) in
      _ = try SystemCall.run("bind", subject: path) { unsafe bind(socket.number, pointer, length) }
    }
    if !isAbstract {
      try SystemCall.run("chmod", subject: path) { unsafe chmod(path, configuration.unixSocketPermissions) }
    }
    try SystemCall.run("listen") { listen(socket.number, configuration.backlog) }
    return (ListeningSocket(socket, isUnix: true, isSecure: isSecure), .unix(path: path))
  }

  /// Listens on a socket that another process has bound.
  static func adopt(
    _ inherited: InheritedSocket, configuration: HTTPServerConfiguration
  ) throws(HTTPServerError) -> (ListeningSocket, ServerAddress) {
    do {
      let number = inherited.descriptor.number
      guard inherited.isListening else {
        throw HTTPServerError(
          .addressInvalid, "the inherited socket '\(inherited.name)' does not listen for connections")
      }
      // A descriptor of our own, closed when the loops stop listening.
      let socket = FileDescriptor(
        takingOwnershipOf: try SystemCall.run("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) })
      let flags = try SystemCall.run("fcntl") { fcntl(number, F_GETFL) }
      try SystemCall.run("fcntl") { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
      let address = try SocketAddress(localOf: number)
      let isUnix = address.family == AF_UNIX
      if !isUnix { try prepareConnections(socket, configuration: configuration) }
      let isSecure = configuration.tls?.socketNames.contains(inherited.name) == true
      return (
        ListeningSocket(socket, isUnix: isUnix, isSecure: isSecure, isInherited: true), address.serverAddress
      )
    } catch let error as HTTPServerError {
      throw error
    } catch {
      throw HTTPServerError(
        .systemFailure, "cannot listen on the inherited socket '\(inherited.name)'",
        cause: error as? SystemError)
    }
  }

  /// Accepted connections inherit these. Keep-alive probes find peers that disappeared silently while nothing
  /// was sent.
  private static func prepareConnections(
    _ socket: borrowing FileDescriptor, configuration: HTTPServerConfiguration
  ) throws(SystemError) {
    let protocolLevel = Int32(IPPROTO_TCP)
    try setOption(socket, level: protocolLevel, option: TCP_NODELAY, value: 1)
    if configuration.notSentLowWater > 0 {
      try setOption(
        socket, level: protocolLevel, option: TCP_NOTSENT_LOWAT, value: configuration.notSentLowWater)
    }
    try setOption(socket, level: SOL_SOCKET, option: SO_KEEPALIVE, value: 1)
    try setOption(socket, level: protocolLevel, option: TCP_KEEPIDLE, value: 60)
    try setOption(socket, level: protocolLevel, option: TCP_KEEPINTVL, value: 15)
    try setOption(socket, level: protocolLevel, option: TCP_KEEPCNT, value: 4)
  }

  private static func makeSocket(_ family: Int32) throws(SystemError) -> FileDescriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return FileDescriptor(takingOwnershipOf: try SystemCall.run("socket") { socket(family, type, 0) })
  }

  private static func setOption(
    _ socket: borrowing FileDescriptor, level: Int32, option: Int32, value: Int32
  ) throws(SystemError) {
    var value = value
    let number = socket.number
    try SystemCall.run("setsockopt") {
      unsafe setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }
}
