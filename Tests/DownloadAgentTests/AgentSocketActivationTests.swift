import AgentTesting
import CoreTypes
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

/// The built agent with a socket that outlives it, as a service manager starts it when something asks.
@Suite("Socket activation of the agent", .timeLimit(.minutes(5)))
struct AgentSocketActivationTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try DurableFile.write(
      Array("token\n".utf8).span, to: directory.path("account-token"), permissions: 0o600)
  }

  private func start(_ socket: InheritedSocket) throws -> ChildProcess {
    let executable = FileSystem.parent(of: try FileSystem.realPath("/proc/self/exe")) + "/pullbox-agent"
    return try ChildProcess(
      executable,
      [
        "--state", directory.path("state"), "--server", "http://127.0.0.1:1", "--store", "http://127.0.0.1:1",
        "--account-token-file", directory.path("account-token"), "--socket", directory.path("unused.sock"),
        "--bus", "none",
      ], environment: ChildProcess.inheritedEnvironment, output: directory.path("log"),
      handingOver: [socket])
  }

  private func ask() async throws -> RawConnection {
    let connection = try RawConnection.unix(path: directory.path("agent.sock"))
    try await connection.send("GET /v1/status HTTP/1.1\r\nHost: h\r\n\r\n")
    return connection
  }

  @Test("who asked before the agent was started is answered, also between one agent and the next")
  func waiting() async throws {
    let socket = try BoundSocket(unixPath: directory.path("agent.sock"))
    for _ in 0..<2 {
      let waiting = try await ask()
      let agent = try start(try socket.handOver(name: "control"))
      #expect(try await waiting.receiveResponse().status == 200)
      // The kernel tells of whoever asked before the agent was there as well: this user may command it.
      let command = try RawConnection.unix(path: directory.path("agent.sock"))
      try await command.send("DELETE /v1/library/com.example.a HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await command.receiveResponse().status == 404)
      #expect(try FileSystem.status(of: directory.path("unused.sock")) == nil)
      #expect(await agent.terminateAndWait() == .exited(0))
      #expect(try FileSystem.status(of: directory.path("agent.sock")) != nil)
    }
  }

  /// Starts an agent with a socket that it cannot use: it ends with 78 before it makes anything. The lines that it has written.
  private func refusal(_ socket: BoundSocket) async throws -> String {
    let agent = try start(try socket.handOver(name: "control"))
    #expect(await agent.ending() == .exited(78))
    #expect(try FileSystem.status(of: directory.path("state")) == nil)
    return String(
      decoding: try FileSystem.read(directory.path("log"), upTo: .mebibytes(1)), as: UTF8.self)
  }

  @Test("a socket that does not say who connects is refused, before anything is made")
  func networkSocket() async throws {
    let log = try await refusal(try BoundSocket())
    #expect(log.contains("the inherited socket 'control'"))
    #expect(log.contains("the control interface answers on Unix sockets alone"))
  }

  @Test(
    "a Unix socket that takes no connections is refused, before anything is made",
    arguments: [BoundSocket.Kind.silent, .datagram])
  func noConnections(kind: BoundSocket.Kind) async throws {
    let log = try await refusal(try BoundSocket(unixPath: directory.path("agent.sock"), kind: kind))
    #expect(log.contains("the inherited socket 'control'"))
    #expect(log.contains("it does not listen for connections"))
  }
}
