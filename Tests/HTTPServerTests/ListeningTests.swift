import CoreTypes
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// A loop that does not run, and the sockets it listens on.
struct ListeningTests {
  private struct NoPages: PageCache {
    func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool { true }

    func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError) {}
  }

  private func makeLoop(listeningOn listeners: [ListeningSocket]) throws -> EventLoop {
    let context = ServerContext(
      configuration: HTTPServerConfiguration(addresses: []), clock: SystemMonotonicClock(),
      wallClock: SystemWallClock(), makeDispatcher: { _ in nil }, requests: RequestTasks(Router { _ in }),
      pageCache: NoPages())
    return EventLoop(
      number: 0, context: context, counters: CounterBlock(), ring: nil, mailboxes: [try LoopMailbox()],
      listeners: listeners, epoll: try EventLoop.makeEpoll())
  }

  private func openSocket() throws -> ListeningSocket {
    try ListeningSocket.open(
      .tcp(host: "127.0.0.1", port: 0), configuration: HTTPServerConfiguration(addresses: []), isFirst: true,
      isSecure: false
    ).0
  }

  /// Which of the sockets the loop has asked to be told of, as the kernel says.
  private func watched(by loop: borrowing EventLoop) throws -> [Bool] {
    let text = try FileSystem.read("/proc/self/fdinfo/\(loop.epoll.number)", upTo: .kibibytes(64))
    let numbers = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
      line.hasPrefix("tfd:") ? Int32(line.split(separator: " ")[1]) : nil
    }
    return loop.listeners.map { numbers.contains($0.descriptor.number) }
  }

  @Test("the file of a process that listens no more is replaced; that of one whose queue is full stays")
  func leftBehind() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("s.sock")
    func open() throws(HTTPServerError) -> ListeningSocket {
      try ListeningSocket.open(
        .unix(path: path), configuration: HTTPServerConfiguration(addresses: []), isFirst: true,
        isSecure: false
      ).0
    }
    do { _ = try BoundSocket(unixPath: path) }
    let first = try open()
    try SystemCall.run("listen") { listen(first.descriptor.number, 0) }
    let waiting = try RawConnection.unix(path: path)
    let error = #expect(throws: HTTPServerError.self) { _ = try open() }
    #expect(error?.code == .addressInUse)
    withExtendedLifetime((first, waiting)) {}
  }

  @Test("where one of two sockets cannot be watched again, neither is, and both are once it can")
  func watchedAgain() throws {
    let directory = try TemporaryDirectory()
    let (first, other) = (try openSocket(), try openSocket())
    // epoll(7) takes no ordinary file.
    let file = try FileDescriptor.open(directory.path("file"), .readWrite, options: .create)
    let number = file.number
    let second = ListeningSocket(file, isUnix: false, isSecure: false)
    var loop = try makeLoop(listeningOn: [first, second])
    for _ in 0..<2 {
      loop.resumeAccepting()
      let due = loop.acceptDue
      #expect(try watched(by: loop) == [false, false])
      #expect(due > 0)
    }
    #expect(dup2(other.descriptor.number, number) == number)
    loop.resumeAccepting()
    let due = loop.acceptDue
    #expect(try watched(by: loop) == [true, true])
    #expect(due == 0)
  }
}
