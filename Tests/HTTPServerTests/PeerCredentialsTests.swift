import CLinux
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// The word of the kernel on who is at the other end of a Unix socket.
struct PeerCredentialsTests {
  /// Whether the kernel tells of a process that has ended (Linux 6.5).
  static var isEndTold: Bool {
    var pair: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return false }
    defer { for number in pair { close(number) } }
    return clinux_peer_has_ended(pair[0]) == 0
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func credentials(of bound: BoundSocket) throws -> PeerCredentials? {
    let number = try SystemCall.run("accept") { accept(bound.descriptor.number, nil, nil) }
    let connection = FileDescriptor(takingOwnershipOf: number)
    return PeerCredentials(of: connection.number, accepted: 77)
  }

  @Test("a process that lives has its number since its connection was taken")
  func living() throws {
    let bound = try BoundSocket(unixPath: directory.path("s.sock"))
    let client = try RawConnection.unix(path: directory.path("s.sock"))
    let credentials = try #require(try credentials(of: bound))
    #expect(credentials.process == getpid() && credentials.user == geteuid())
    #expect(credentials.accepted == 77)
    withExtendedLifetime(client) {}
  }

  @Test(
    "a process that ended while its connection waited has its number no more, whichever process has it then",
    .enabled(if: PeerCredentialsTests.isEndTold, "this kernel does not tell"))
  func ended() async throws {
    let bound = try BoundSocket(unixPath: directory.path("s.sock"))
    let number = try SystemCall.run("socket") {
      socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    // The connection lives on with this descriptor.
    let client = InheritedSocket(FileDescriptor(takingOwnershipOf: number), name: "client")
    let program = try ChildProcess(
      "/usr/bin/python3",
      ["-c", "import socket, sys; socket.socket(fileno=3).connect(sys.argv[1])", directory.path("s.sock")],
      environment: ChildProcess.inheritedEnvironment, output: directory.path("log"), handingOver: [client])
    #expect(await program.ending() == .exited(0))
    let credentials = try #require(try credentials(of: bound))
    #expect(credentials.process == program.identifier && credentials.user == geteuid())
    #expect(credentials.accepted == 0)
    withExtendedLifetime(client) {}
  }
}
