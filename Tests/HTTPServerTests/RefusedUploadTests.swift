import CLinux
import CoreTypes
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// The answer to a refused upload arrives, though its bytes go on coming.
@Suite(.timeLimit(.minutes(10)))
struct RefusedUploadTests {
  private let upload = [UInt8](repeating: 0x47, count: 16 << 20)

  @Test("the answer to a refused upload arrives even at a client that sends all of it first")
  func answerArrives() async throws {
    try await withServer(
      configure: { $0.maximumBodyLength = .gibibytes(1) },
      respond: { _ in HTTPResponse(status: .forbidden, body: .bytes(Array("no".utf8))) }
    ) { server in
      for field in ["Content-Length: \(upload.count)", "Content-Length: 99999999999"] {
        let connection = try server.connect()
        try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
        try await connection.send(upload)
        let response = try await connection.receiveResponse()
        #expect(response.status == (field.hasSuffix("99") ? 413 : 403))
        #expect(response["Connection"] == "close")
        connection.endSending()
        #expect(try await connection.receiveToEnd() == [])
      }
    }
  }

  @Test("so does the answer to a broken chunk, with everything that follows it")
  func brokenChunk() async throws {
    try await withServer(respond: echo) { server in
      let connection = try server.connect()
      try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")
      try await connection.send(upload)
      let response = try await connection.receiveResponse()
      #expect(response.status == 400)
      #expect(response["Connection"] == "close")
    }
  }

  @Test("a client that never stops sending is closed when the linger deadline has passed")
  func endless() async throws {
    let clock = ManualMonotonicClock()
    try await withServer(clock: clock, respond: { _ in HTTPResponse(status: .forbidden) }) { server in
      let connection = try server.connect()
      try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000000\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 403)
      clock.advance(by: .seconds(3))
      server.server.clockDidMove()
      await #expect(throws: SystemError.self) {
        while true { try await connection.send(upload) }
      }
      #expect(server.server.statistics().deadlinesPassed[.linger] == 1)
    }
  }

  @Test("an upload refused before permission was given gets the final answer alone")
  func withoutPermission() async throws {
    try await withServer(respond: { _ in HTTPResponse(status: .forbidden) }) { server in
      let connection = try server.connect()
      try await connection.send(
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \(upload.count)\r\nExpect: 100-continue\r\n\r\n")
      // A client that does not wait for permission either way.
      try await connection.send(upload)
      let response = try await connection.receiveResponse()
      #expect(response.status == 403)
      #expect(response["Connection"] == "close")
    }
  }
}
