import CLinux
import CoreTypes
import Dispatch
import Glibc
import HTTPServer
import PullboxTesting
import SystemCalls

/// Plays vectors to a server on a Unix socket, blocking, on a queue of its own.
struct VectorRunner: Sendable {
  private static let connectionsAtOnce = 64

  let path: String

  /// The answer of the server under test.
  static func echo(_ request: HTTPRequest) async -> HTTPResponse {
    if request.path == "/ignore" { return HTTPResponse(status: .ok, body: .bytes(Array("ignored".utf8))) }
    do {
      let body = try await request.body.collect(upTo: .kibibytes(64))
      return HTTPResponse(
        status: .ok, headers: ["X-Method": request.method.rawValue],
        body: .bytes(Array("\(request.method) \(request.rawTarget) [".utf8) + body + [UInt8(ascii: "]")]))
    } catch {
      return HTTPResponse(status: .badRequest)
    }
  }

  /// The answers to `vector` for each of `cuts`, in that order; a cut of nil sends everything at once.
  func play(_ vector: ConnectionVector, cuts: [Int?]) async throws -> [[String]] {
    try await run(vector, cuts: cuts).map { try Transcript($0).answers }
  }

  /// The bytes that the server sent for each of `cuts`.
  func run(_ vector: ConnectionVector, cuts: [Int?]) async throws -> [[UInt8]] {
    try await run(
      vector.bytes, then: Array(ConnectionVector.sentinel.utf8), cuts: cuts.map { $0.map { [$0] } ?? [] })
  }

  /// The answers to `vector` in many pieces, with all of the loop's turns between them.
  func playInPieces(_ vector: ConnectionVector, of length: Int) async throws -> [String] {
    let cuts = Array(stride(from: length, to: vector.bytes.count, by: length))
    let received = try await run(vector.bytes, then: Array(ConnectionVector.sentinel.utf8), cuts: [cuts])
    return try Transcript(received[0]).answers
  }

  /// The bytes that the server sent for each way to cut `bytes` in pieces, after which the client closes its sending
  /// half.
  func runToEnd(_ bytes: [UInt8], cuts: [[Int]]) async throws -> [[UInt8]] {
    try await run(bytes, then: nil, cuts: cuts)
  }

  private func run(_ bytes: [UInt8], then sentinel: [UInt8]?, cuts: [[Int]]) async throws -> [[UInt8]] {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result {
            var received: [[UInt8]] = []
            for start in stride(from: 0, to: cuts.count, by: Self.connectionsAtOnce) {
              let some = Array(cuts[start..<min(start + Self.connectionsAtOnce, cuts.count)])
              received += try playTogether(bytes, sentinel: sentinel, cuts: some)
            }
            return received
          })
      }
    }
  }

  private func playTogether(_ bytes: [UInt8], sentinel: [UInt8]?, cuts: [[Int]]) throws -> [[UInt8]] {
    let barrier = try BlockingSocket(unixPath: path)
    let sockets = try cuts.map { _ in try BlockingSocket(unixPath: path) }
    try barrier.pass()
    for step in 0..<(cuts.map(\.count).max() ?? 0) {
      for (socket, cuts) in zip(sockets, cuts) where step < cuts.count {
        try socket.send(bytes[(step > 0 ? cuts[step - 1] : 0)..<cuts[step]])
      }
      // The one loop has read all these pieces before it answers this.
      try barrier.pass()
    }
    return try zip(sockets, cuts).map { socket, cuts in
      try socket.send(bytes[(cuts.last ?? 0)...] + (sentinel ?? []))
      if sentinel == nil { socket.endSending() }
      return try socket.receiveToEnd()
    }
  }
}

/// A Unix socket whose calls wait, for two minutes at most.
// Unchecked: only the closure of VectorRunner that makes it uses it.
final class BlockingSocket: @unchecked Sendable {
  private let descriptor: FileDescriptor

  init(unixPath path: String) throws {
    descriptor = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket") {
        Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    var patience = timeval(tv_sec: 120, tv_usec: 0)
    let length = socklen_t(MemoryLayout<timeval>.size)
    _ = unsafe setsockopt(descriptor.number, SOL_SOCKET, SO_RCVTIMEO, &patience, length)
    _ = unsafe setsockopt(descriptor.number, SOL_SOCKET, SO_SNDTIMEO, &patience, length)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
    try SystemCall.run("connect") {
      unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe connect(descriptor.number, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
  }

  /// Sends all of it, or as much as a server that has ended the connection takes.
  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    var sent = 0
    while sent < bytes.count {
      let start = sent
      do {
        sent += try SystemCall.run("send") {
          unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(
              descriptor.number, bytes.baseAddress?.advanced(by: start), bytes.count - start,
              Int32(MSG_NOSIGNAL))
          }
        }
      } catch {
        guard error.number == EPIPE || error.number == ECONNRESET else { throw error }
        return
      }
    }
  }

  func endSending() {
    // A server that has ended the connection needs no telling.
    _ = shutdown(descriptor.number, Int32(SHUT_WR))
  }

  func receiveToEnd() throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try receive()
      if bytes.isEmpty { return all }
      all += bytes
    }
  }

  /// Twice a request and its response: the server's loop has then had a whole turn.
  func pass() throws {
    for _ in 0..<2 {
      try send(Array("GET /barrier HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
      var answer: [UInt8] = []
      while !answer.suffix(2).elementsEqual(Array("[]".utf8)) {
        let bytes = try receive()
        guard !bytes.isEmpty else { throw Transcript.Failure(description: "the barrier was closed") }
        answer += bytes
      }
    }
  }

  private func receive() throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = try SystemCall.run("recv") {
      unsafe bytes.withUnsafeMutableBytes { unsafe recv(descriptor.number, $0.baseAddress, $0.count, 0) }
    }
    return Array(bytes.prefix(count))
  }
}
