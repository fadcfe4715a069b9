import Foundation
import Glibc
import Synchronization

/// A socket of the machine alone, without a file, at which each connection is greeted, sent the same bytes behind its first command, and then no
/// more: a server of PostgreSQL as far as a client can tell. It serves one connection after the other, on a thread that lasts as long as the process.
final class ScriptedServer: Sendable {
  /// Nil where the machine has no such sockets.
  static let shared = ScriptedServer()

  /// The address for libpq: a name in place of a path begins with `@`.
  let url: String
  private let script = Mutex<(greeting: [UInt8], answers: [UInt8])>(([], []))

  private init?() {
    let name = "pullbox-fuzz-\(getpid())"
    url = "postgresql:///d?host=%40\(name)&user=u&sslmode=disable&gssencmode=disable"
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let text = Array("\0\(name)/.s.PGSQL.5432".utf8)
    let length = MemoryLayout<sa_family_t>.size + text.count
    let isBound = unsafe withUnsafeMutableBytes(of: &address) { bytes in
      for (index, byte) in text.enumerated() { unsafe bytes[MemoryLayout<sa_family_t>.size + index] = byte }
      guard let start = bytes.baseAddress else { return false }
      return unsafe bind(socket, start.assumingMemoryBound(to: sockaddr.self), socklen_t(length)) == 0
    }
    guard isBound, listen(socket, 8) == 0 else {
      close(socket)
      return nil
    }
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(socket, nil, nil)
        guard connection >= 0 else { continue }
        serve(connection)
        close(connection)
      }
    }
  }

  /// From now on a connection is sent these bytes.
  func answer(_ answers: [UInt8], behind greeting: [UInt8]) { script.withLock { $0 = (greeting, answers) } }

  /// Answers the client's first two messages, and reads the others until it goes.
  private func serve(_ connection: Int32) {
    let (greeting, answers) = script.withLock { $0 }
    var buffer = [UInt8](repeating: 0, count: 4096)
    for bytes in [greeting, answers] {
      guard unsafe recv(connection, &buffer, buffer.count, 0) > 0, send(bytes, to: connection) else { return }
    }
    shutdown(connection, Int32(SHUT_WR))
    while unsafe recv(connection, &buffer, buffer.count, 0) > 0 {}
  }

  private func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
