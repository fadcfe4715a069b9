import CLinux
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import ServiceRuntime

/// sd_listen_fds(3): what a process takes over, and what it leaves alone.
struct InheritedSocketsTests {
  /// Opens as many descriptors with numbers in a row, none of which another test has; the first number. They stay open
  /// in programs that are started, as those of a service manager do.
  private func descriptors(_ count: Int32) throws -> Int32 {
    let file = try FileDescriptor.open("/dev/null", .readOnly)
    var first: Int32 = 700
    while true {
      var numbers: [Int32] = []
      while numbers.count < count {
        let wanted = first + Int32(numbers.count)
        let number = try SystemCall.run("fcntl") { fcntl(file.number, F_DUPFD, wanted) }
        numbers.append(number)
        if number != wanted { break }
      }
      if numbers == Array(first..<first + count) { return first }
      for number in numbers { close(number) }
      first += count
    }
  }

  /// No limit allows a descriptor of that number.
  private static let beyondAll: Int32 = 1 << 30

  private func environment(_ count: Int32, names: String? = nil, process: Int32 = 42) -> [String: String] {
    var variables = ["LISTEN_PID": "\(process)", "LISTEN_FDS": "\(count)"]
    variables["LISTEN_FDNAMES"] = names
    return variables
  }

  @Test("sockets come in order with their names, and are closed in programs that are started")
  func taken() throws {
    let first = try descriptors(2)
    let sockets = try InheritedSockets.adopt(
      environment: environment(2, names: "http:https"), process: 42, from: first)
    #expect(sockets.map(\.name) == ["http", "https"])
    #expect(sockets.map { $0.descriptor.number } == [first, first + 1])
    #expect(fcntl(first, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("without names all are unknown")
  func unnamed() throws {
    let first = try descriptors(1)
    let sockets = try InheritedSockets.adopt(environment: environment(1), process: 42, from: first)
    #expect(sockets.map(\.name) == ["unknown"])
  }

  @Test(
    "nothing is taken where nothing was handed over, or to another process",
    arguments: [[:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42"], ["LISTEN_FDS": "1", "LISTEN_PID": "41"]])
  func nothing(environment: [String: String]) throws {
    #expect(try InheritedSockets.adopt(environment: environment, process: 42, from: Self.beyondAll).isEmpty)
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
      try InheritedSockets.adopt(environment: environment, process: 42, from: Self.beyondAll)
    }
  }

  @Test("the process's own variables are gone once they were read")
  func unset() async {
    // Threads of other tests read the environment.
    await #expect(processExitsWith: .success) {
      unsafe setenv("LISTEN_FDS", "1", 1)
      unsafe setenv("LISTEN_PID", "1", 1)
      let sockets = try InheritedSockets.adopt()
      #expect(sockets.isEmpty)
      #expect(ProcessEnvironment.variables["LISTEN_FDS"] == nil)
      #expect(ProcessEnvironment.variables["LISTEN_PID"] == nil)
    }
  }
}
