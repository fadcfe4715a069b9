import CoreTypes
import Files
import Foundation
import PullboxTesting
import SystemCalls
import Testing

/// The built server with sockets that outlive it, as a service manager starts, reloads, watches and replaces it.
@Suite("Socket activation", .timeLimit(.minutes(10)))
struct SocketActivationTests {
  private let directory: TemporaryDirectory
  private let notifications: NotificationSocket
  private let plain: BoundSocket
  private let secure: BoundSocket
  private let certificate: TestCertificate

  init() async throws {
    directory = try TemporaryDirectory()
    notifications = try NotificationSocket(path: directory.path("notify"))
    plain = try BoundSocket()
    secure = try BoundSocket()
    certificate = try await TestCertificate(named: "first", in: directory)
  }

  private func start() async throws -> ChildProcess {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    var environment = ChildProcess.inheritedEnvironment
    environment["NOTIFY_SOCKET"] = notifications.path
    environment["WATCHDOG_USEC"] = "2000000"
    environment["PULLBOX_STORE_CREDENTIAL"] = "credential"
    let process = try ChildProcess(
      own.deletingLastPathComponent().appending(path: "pullbox-server").path,
      [
        "--state", directory.path("state"), "--tls-certificate", certificate.certificateFile, "--tls-key",
        certificate.keyFile, "--loops", "2",
      ], environment: environment, output: directory.path("log"),
      handingOver: [try plain.handOver(name: "http"), try secure.handOver(name: "https")])
    // Its notifications are no longer awaited once it has ended.
    Task { [notifications] in
      _ = await process.ending()
      notifications.post(Self.end(of: process))
    }
    try await awaitNotification("READY=1", from: process)
    return process
  }

  private struct NotificationMissing: Error {
    var line: String
    var log: String
  }

  private static func end(of process: ChildProcess) -> String { "ENDED=\(process.identifier)" }

  private func awaitNotification(_ line: String, from process: ChildProcess) async throws {
    while true {
      let lines = await notifications.next().split(separator: "\n")
      if lines.contains(Substring(line)) { return }
      // Nothing for a long time, or the end of a server that should run.
      if lines.isEmpty || lines.contains(Substring(Self.end(of: process))) {
        let log = try FileSystem.read(directory.path("log"), upTo: .mebibytes(16))
        throw NotificationMissing(line: line, log: String(decoding: log.suffix(2000), as: UTF8.self))
      }
    }
  }

  private func expectAnswer(_ connection: RawConnection) async throws {
    try await connection.send("GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try await connection.receiveResponse()
    #expect(response.status == 404)
  }

  @Test(
    "it serves on both, reloads, feeds the watchdog, ends with 0, and its successor answers the client that waited"
  )
  func life() async throws {
    let first = try await start()
    try await expectAnswer(RawConnection.tcp(port: plain.port))
    let connection = try SecureConnection(over: .tcp(port: secure.port))
    try await connection.handshake()
    try await connection.send("GET /v1/nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    let answer = try await connection.receiveResponse()
    #expect(answer.status == 404)
    first.send(signal: SIGHUP)
    try await awaitNotification("RELOADING=1", from: first)
    try await awaitNotification("READY=1", from: first)
    try await awaitNotification("WATCHDOG=1", from: first)
    #expect(await first.terminateAndWait() == .exited(0))
    let waiting = try RawConnection.tcp(port: plain.port)
    try await waiting.send("GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n")
    let second = try await start()
    let late = try await waiting.receiveResponse()
    #expect(late.status == 404)
    #expect(await second.terminateAndWait() == .exited(0))
  }
}
