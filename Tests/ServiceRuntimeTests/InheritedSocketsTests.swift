import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import ServiceRuntime

/// sd_listen_fds(3): what a process takes over, and what it leaves alone.
struct InheritedSocketsTests {
  /// Descriptors from a number on that nothing else in the process uses.
  private func descriptors(_ count: Int32, from first: Int32) throws {
    for position in 0..<count {
      let file = try FileDescriptor.open("/dev/null", .readOnly)
      try SystemCall.run("dup2") { dup2(file.number, first + position) }
    }
  }

  private func environment(_ count: Int32, names: String? = nil, process: Int32 = 42) -> [String: String] {
    var variables = ["LISTEN_PID": "\(process)", "LISTEN_FDS": "\(count)"]
    variables["LISTEN_FDNAMES"] = names
    return variables
  }

  @Test("sockets come in order with their names, and are closed in programs that are started")
  func taken() throws {
    try descriptors(2, from: 700)
    let sockets = try InheritedSockets.take(
      environment: environment(2, names: "http:https"), process: 42, from: 700)
    #expect(sockets.map(\.name) == ["http", "https"])
    #expect(sockets.map { $0.descriptor.number } == [700, 701])
    #expect(fcntl(700, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("without names all are unknown")
  func unnamed() throws {
    try descriptors(1, from: 710)
    let sockets = try InheritedSockets.take(environment: environment(1), process: 42, from: 710)
    #expect(sockets.map(\.name) == ["unknown"])
  }

  @Test(
    "nothing is taken where nothing was handed over, or to another process",
    arguments: [[:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42"], ["LISTEN_FDS": "1", "LISTEN_PID": "41"]])
  func nothing(environment: [String: String]) throws {
    #expect(try InheritedSockets.take(environment: environment, process: 42, from: 720).isEmpty)
  }

  @Test(
    "what does not fit together is an error",
    arguments: [
      ["LISTEN_FDS": "x", "LISTEN_PID": "42"], ["LISTEN_FDS": "-1", "LISTEN_PID": "42"],
      ["LISTEN_FDS": "1", "LISTEN_PID": "x"],
      ["LISTEN_FDS": "1", "LISTEN_PID": "42", "LISTEN_FDNAMES": "a:b"],
      // Not open.
      ["LISTEN_FDS": "1", "LISTEN_PID": "42"],
    ])
  func wrong(environment: [String: String]) {
    #expect(throws: InheritedSocketError.self) {
      try InheritedSockets.take(environment: environment, process: 42, from: 730)
    }
  }

  @Test("the process's own variables are gone once they were read")
  func unset() throws {
    unsafe setenv("LISTEN_FDS", "1", 1)
    unsafe setenv("LISTEN_PID", "1", 1)
    #expect(try InheritedSockets.take().isEmpty)
    #expect(ProcessEnvironment.variables["LISTEN_FDS"] == nil)
    #expect(ProcessEnvironment.variables["LISTEN_PID"] == nil)
  }
}
