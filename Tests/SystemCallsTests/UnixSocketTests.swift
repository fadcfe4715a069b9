import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite("Unix sockets by their paths")
struct UnixSocketTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test("a socket is abandoned once no process listens there, and not before")
  func abandoned() throws {
    let path = directory.path("s.sock")
    #expect(!UnixSocket.isAbandoned(path), "there is none")
    do {
      let bound = try BoundSocket(unixPath: path)
      withExtendedLifetime(bound) { #expect(!UnixSocket.isAbandoned(path)) }
    }
    #expect(UnixSocket.isAbandoned(path))
    #expect(try FileSystem.status(of: path) != nil, "it stays where it is")
  }

  @Test("a socket whose queue is full has an owner, and the question does not wait")
  func fullQueue() throws {
    let path = directory.path("s.sock")
    let bound = try BoundSocket(unixPath: path)
    try SystemCall.run("listen") { listen(bound.descriptor.number, 0) }
    // One more than the queue's length goes in (listen(2)).
    let waiting = try RawConnection.unix(path: path)
    withExtendedLifetime((bound, waiting)) {
      for _ in 0..<2 { #expect(!UnixSocket.isAbandoned(path)) }
    }
  }

  @Test("what is no socket that refuses connections is not abandoned")
  func others() throws {
    try DurableFile.write(Array("text".utf8).span, to: directory.path("file"), permissions: 0o600)
    let datagrams = try BoundSocket(unixPath: directory.path("d.sock"), kind: .datagram)
    withExtendedLifetime(datagrams) {
      for name in ["file", "d.sock", ".", String(repeating: "a", count: 200)] {
        #expect(!UnixSocket.isAbandoned(directory.path(name)), "\(name)")
      }
    }
  }

  @Test("a link to an abandoned socket is not the socket")
  func link() throws {
    do { _ = try BoundSocket(unixPath: directory.path("s.sock")) }
    try symbolicLink(to: directory.path("s.sock"), at: directory.path("link"))
    #expect(UnixSocket.isAbandoned(directory.path("s.sock")))
    #expect(!UnixSocket.isAbandoned(directory.path("link")))
  }
}
