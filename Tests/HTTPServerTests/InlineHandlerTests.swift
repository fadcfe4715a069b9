import CLinux
import CoreTypes
import Glibc
import HTTPParsing
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

@Suite(.timeLimit(.minutes(10)))
struct InlineHandlerTests {
  private let directory: TemporaryDirectory
  /// 1,000,000 bytes that repeat after a prime number.
  private static let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
  private let content = Self.content
  private let handler: FileHandler

  init() throws {
    directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try file.write(Self.content.span, at: .zero)
    handler = FileHandler(file: try SharedDescriptor(file))
  }

  @Test("a whole file comes out as it went in, and the meter counts its bytes")
  func wholeFile() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      for count in 1...3 {
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
        let response = try await connection.receiveResponse()
        #expect(response.status == 200)
        #expect(response["Content-Length"] == "1000000")
        #expect(response.body == content)
        // The bytes that the loop sent are counted before it answers the next request.
        try await connection.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 200)
        #expect(handler.meter.total == ByteCount(count * 1_000_000))
      }
    }
  }

  /// Keeps a file open for the next request, as its connection does.
  private struct KeepingHandler: InlineHandler {
    let file: Locked<SharedDescriptor?>
    /// The file that the handler of the loop keeps itself.
    let kept = Locked<SharedDescriptor?>(nil)

    func makeConnectionState() -> SharedDescriptor? { nil }

    func respond(
      head: borrowing RequestHead, bytes: Span<UInt8>, state: inout SharedDescriptor?,
      response: inout InlineResponse
    ) -> InlineOutcome {
      if let file = file.current {
        state = file
        kept.withLock { $0 = file }
      }
      response.start(.ok)
      if let state { response.finish(file: state, range: 0..<100_000) } else { response.finish() }
      return .answered
    }

    func releaseFiles(of state: inout SharedDescriptor?) { state = nil }

    func releaseFiles() { kept.withLock { $0 = nil } }
  }

  private struct Weak {
    weak var file: SharedDescriptor?
  }

  @Test("a file that only idle connections and the handler keep is closed on request")
  func releasedFiles() async throws {
    let opened = try FileDescriptor.open(directory.path("content"), .readOnly)
    let keeping = KeepingHandler(file: Locked<SharedDescriptor?>(try SharedDescriptor(opened)))
    let kept = Weak(file: keeping.file.current)
    try await withServer(inline: keeping) { server in
      let connections = try (0..<3).map { _ in try server.connect() }
      for connection in connections {
        try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().body == Array(content[..<100_000]))
      }
      keeping.file.withLock { $0 = nil }
      await server.server.ping()
      #expect(kept.file != nil)
      server.server.releaseIdleFiles()
      await server.server.ping()
      #expect(kept.file == nil)
      for connection in connections {
        try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 200)
      }
    }
  }

  @Test("a range comes out exactly, at both edges too")
  func ranges() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      for (field, range) in [
        ("bytes=0-0", 0..<1), ("bytes=999999-", 999_999..<1_000_000),
        ("bytes=65536-131071", 65_536..<131_072),
        ("bytes=-1000000", 0..<1_000_000),
      ] {
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: \(field)\r\n\r\n")
        let response = try await connection.receiveResponse()
        #expect(response.status == 206)
        #expect(response["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000000")
        #expect(response.body == Array(content[range]))
      }
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=1000000-\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 416)
      #expect(response["Content-Range"] == "bytes */1000000")
    }
  }

  @Test("several ranges come as parts, each with its place")
  func multipart() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=300-301,0-1\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 206)
      #expect(response["Content-Type"] == "multipart/byteranges; boundary=edge")
      let head = "Content-Type: text/plain\r\nContent-Range: bytes"
      var expected = Array("--edge\r\n\(head) 300-301/1000000\r\n\r\n".utf8) + content[300...301]
      expected += Array("\r\n--edge\r\n\(head) 0-1/1000000\r\n\r\n".utf8) + content[0...1]
      expected += Array("\r\n--edge--\r\n".utf8)
      #expect(response.body == expected)
      // The meter is for what the file holds, not for the heads of the parts.
      try await connection.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      #expect(handler.meter.total == ByteCount(4))
    }
  }

  @Test("offsets beyond 2^32 reach the right bytes of a sparse file")
  func sparse() async throws {
    let length: Int64 = 1 << 32 + 4096
    let descriptor = try FileDescriptor.open(directory.path("sparse"), .readWrite, options: .create)
    try descriptor.truncate(to: ByteCount(length))
    let mark = Array("across the edge".utf8)
    try descriptor.write(mark.span, at: ByteCount(Int64(1 << 32) - 7))
    let sparse = FileHandler(file: try SharedDescriptor(descriptor))
    try await withServer(inline: sparse) { server in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=4294967289-4294967303\r\n\r\n")
      #expect(try await connection.receiveResponse().body == mark)
      try await connection.send("HEAD /file HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse(toHead: true)["Content-Length"] == "\(length)")
    }
  }

  @Test("pages that are not in memory are fetched, and the loop answers others meanwhile")
  func coldPages() async throws {
    let file = handler.file
    let reader = try FileDescriptor.open(directory.path("content"), .readOnly)
    try reader.synchronize()
    #expect(posix_fadvise(reader.number, 0, 0, POSIX_FADV_DONTNEED) == 0)
    try await withServer(inline: handler) { server in
      let cold = try server.connect()
      let other = try server.connect()
      try await cold.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await other.receiveResponse().status == 200)
      #expect(try await cold.receiveResponse().body == content)
      try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await other.receiveResponse().status == 200)
      #expect(handler.meter.total == file.length)
    }
  }

  @Test("HEAD gets the head of the whole and no content, and the connection goes on")
  func head() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send(
        "HEAD /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\nGET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      let head = try await connection.receiveResponse(toHead: true)
      #expect(head.status == 200)
      #expect(head["Content-Length"] == "1000000")
      #expect(try await connection.receiveResponse().text == "request 2")
    }
  }

  @Test("the state of a connection lives as long as the connection")
  func connectionState() async throws {
    try await withServer(inline: handler) { server in
      for _ in 0..<2 {
        let connection = try server.connect()
        try await connection.send(String(repeating: "GET /count HTTP/1.1\r\nHost: h\r\n\r\n", count: 50))
        for number in 1...50 {
          let response = try await connection.receiveResponse()
          #expect(response.text == "request \(number)")
          #expect(response["X-Count"] == "\(number)")
        }
      }
    }
  }

  @Test("inline and async answers of one connection keep their order")
  func mixedOrder() async throws {
    try await withServer(
      inline: handler, respond: { HTTPResponse(status: .ok, body: .bytes(Array("async \($0.path)".utf8))) }
    ) { server in
      let connection = try server.connect()
      let one =
        "GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=5-9\r\n\r\n"
      try await connection.send(String(repeating: one, count: 10))
      for _ in 0..<10 {
        #expect(try await connection.receiveResponse().text == "async /slow")
        #expect(try await connection.receiveResponse().body == [5, 6, 7, 8, 9])
      }
    }
  }

  @Test("a file shorter than its range ends the connection short of the announced length")
  func truncated() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send("GET /beyond HTTP/1.1\r\nHost: h\r\n\r\n")
      let head = try await connection.receive(through: "\r\n\r\n")
      #expect(head.contains("Content-Length: 1000001\r\n"))
      #expect(try await connection.receiveToEnd() == content)
    }
  }

  @Test("a field value with a line end never reaches the wire")
  func injection() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send("GET /broken HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 500)
      #expect(!response.head.text.contains("Injected"))
    }
  }

  @Test("a response that forbids content has no length")
  func notModified() async throws {
    try await withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send(
        "GET /unmodified HTTP/1.1\r\nHost: h\r\n\r\nGET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 304)
      #expect(response["Content-Length"] == nil)
      #expect(try await connection.receiveResponse().status == 200)
    }
  }

  @Test("eight slow readers of one file all get all of it")
  func fairness() async throws {
    let content = content
    try await withServer(
      inline: handler,
      configure: {
        $0.turnLength = 65_536
        $0.notSentLowWater = 16_384
      }
    ) { server in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let connection = try server.connect(receiveBuffer: 4096)
            try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
            return try await connection.receiveResponse().body == content
          }
        }
        for try await isWhole in group { #expect(isWhole) }
      }
    }
  }
}
