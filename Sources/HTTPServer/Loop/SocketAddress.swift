// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc
internal import SystemCalls

/// A socket address in the kernel's layout (`sockaddr`).
struct SocketAddress {
  private var storage = sockaddr_storage()
  private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// Numeric, or `localhost`, which is 127.0.0.1.
  init?(host: String, port: UInt16) {
    var four = sockaddr_in()
    if unsafe inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &four.sin_addr) == 1 {
      four.sin_family = sa_family_t(AF_INET)
      four.sin_port = port.bigEndian
      store(four)
      return
    }
    var six = sockaddr_in6()
    guard unsafe inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { return nil }
    six.sin6_family = sa_family_t(AF_INET6)
    six.sin6_port = port.bigEndian
    store(six)
  }

  /// Nil when the path does not fit (107 bytes). A leading `@` names an abstract socket: no file, a name that
  /// starts with a zero byte and has no end but its length.
  init?(unixPath path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else { return nil }
    let isAbstract = path.hasPrefix("@")
    if isAbstract { bytes[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    store(address)
    if isAbstract { length = socklen_t(SocketAddress.pathOffset + bytes.count) }
  }

  init(localOf socket: Int32) throws(SystemError) {
    try unsafe withMutablePointer { (pointer, length) throws(SystemError) in
      _ = try SystemCall.run("getsockname") { unsafe getsockname(socket, pointer, length) }
    }
  }

  /// Where the path begins in a Unix address.
  private static let pathOffset =
    MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  /// The address in the notation of a configuration.
  var serverAddress: ServerAddress {
    guard family == AF_UNIX else { return .tcp(host: PeerAddress(storage).host, port: port) }
    let count = max(0, Int(length) - SocketAddress.pathOffset)
    var bytes = unsafe withUnsafeBytes(of: storage) {
      unsafe Array($0.dropFirst(SocketAddress.pathOffset).prefix(count))
    }
    if bytes.first == 0 { bytes[0] = UInt8(ascii: "@") }
    return .unix(path: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
  }

  var family: Int32 { Int32(storage.ss_family) }

  var port: UInt16 {
    switch family {
    case AF_INET: load(as: sockaddr_in.self).sin_port.bigEndian
    case AF_INET6: load(as: sockaddr_in6.self).sin6_port.bigEndian
    default: 0
    }
  }

  mutating func withPointer<Result, Failure: Error>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let length = length
    return try unsafe withUnsafeMutablePointer(to: &storage) { (pointer) throws(Failure) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(Failure) in
        try unsafe body(pointer, length)
      }
    }
  }

  private mutating func withMutablePointer<Failure: Error>(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) throws(Failure) -> Void
  ) throws(Failure) {
    var length = length
    try unsafe withUnsafeMutablePointer(to: &storage) { (pointer) throws(Failure) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(Failure) in
        try unsafe body(pointer, &length)
      }
    }
    self.length = length
  }

  private mutating func store<Address>(_ address: Address) {
    length = socklen_t(MemoryLayout<Address>.size)
    unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: Address.self) }
  }

  private func load<Address>(as type: Address.Type) -> Address {
    unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: type) }
  }
}
