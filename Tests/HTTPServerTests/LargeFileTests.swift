import CoreTypes
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

/// Files around the lengths at which numbers of 31 and 32 bits end.
@Suite(.timeLimit(.minutes(10)))
struct LargeFileTests {
  static let lengths: [Int64] = [
    (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40,
  ]

  /// A sparse file whose bytes are zero but for the eight before its end, and those around 2^31 and 2^32.
  private func withLargeFile(_ length: Int64, _ body: (TestServer) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let descriptor = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try descriptor.truncate(to: ByteCount(length))
    for place in Self.marks(length) {
      let mark = Array(Self.mark(place).utf8)
      try descriptor.write(mark.span, at: ByteCount(place))
    }
    try await withServer(inline: FileHandler(file: try SharedDescriptor(descriptor)), body)
  }

  /// Where marks of eight bytes stand: in front of the end, and across each edge that the file has.
  private static func marks(_ length: Int64) -> [Int64] {
    [Int64(1) << 31, 1 << 32].filter { $0 + 16 < length }.map { $0 - 4 } + [length - 8]
  }

  private static func mark(_ place: Int64) -> String {
    String(String(place + 10_000_000, radix: 16).suffix(8))
  }

  @Test("ranges across and at every edge are exact, by place and by suffix", arguments: lengths)
  func ranges(_ length: Int64) async throws {
    try await withLargeFile(length) { server in
      let connection = try server.connect()
      for place in Self.marks(length) {
        var fields = ["bytes=\(place)-\(place + 7)", " bytes= \(place)-\(place + 7) ,"]
        if place == length - 8 {
          fields += ["bytes=-8", "bytes=\(place)-", "bytes=\(place)-99999999999999999999"]
        }
        for field in fields {
          try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange:\(field)\r\n\r\n")
          let response = try await connection.receiveResponse()
          #expect(response.status == 206)
          #expect(response["Content-Range"] == "bytes \(place)-\(place + 7)/\(length)")
          #expect(response.text == Self.mark(place), "\(field)")
        }
      }
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=\(length)-\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 416)
      #expect(response["Content-Range"] == "bytes */\(length)")
    }
  }

  @Test("the length of the whole, of a long part and of several parts is exact", arguments: lengths)
  func contentLengths(_ length: Int64) async throws {
    try await withLargeFile(length) { server in
      let head = try server.connect()
      try await head.send("HEAD /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-5\r\n\r\n")
      let whole = try await head.receiveResponse(toHead: true)
      #expect(whole.status == 200)
      #expect(whole["Content-Length"] == "\(length)")

      let part = try server.connect(receiveBuffer: 4096)
      try await part.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=1-\r\n\r\n")
      let partHead = try await part.receive(through: "\r\n\r\n")
      #expect(partHead.contains("\r\nContent-Length: \(length - 1)\r\n"))
      #expect(partHead.contains("\r\nContent-Range: bytes 1-\(length - 1)/\(length)\r\n"))
      part.reset()

      let several = try server.connect(receiveBuffer: 4096)
      try await several.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=0-0,1000-\r\n\r\n")
      let severalHead = try await several.receive(through: "\r\n\r\n")
      // The boundary of FileHandler is `edge`.
      let first = "--edge\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-0/\(length)\r\n\r\n"
      let second =
        "\r\n--edge\r\nContent-Type: text/plain\r\nContent-Range: bytes 1000-\(length - 1)/\(length)\r\n\r\n"
      let expected =
        Int64(first.utf8.count + 1 + second.utf8.count + "\r\n--edge--\r\n".utf8.count) + length - 1000
      #expect(severalHead.contains("\r\nContent-Length: \(expected)\r\n"))
      let start = try await several.receive(exactly: first.utf8.count + 1 + second.utf8.count)
      #expect(start == Array(first.utf8) + [0] + Array(second.utf8))
      several.reset()
    }
  }
}
