import Foundation
import PullboxTesting
import SystemCalls
import Testing

/// What runs in an agent that has nothing to do, seen from outside.
@Suite("The threads of an agent", .timeLimit(.minutes(10)))
struct AgentThreadsTests {
  @Test("none is libdispatch's, whose workers are counted every second")
  func names() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server, .agent])) { stack in
      // Tasks have run by then, and slept.
      #expect(try await stack.agent.transactions().isEmpty)
      let process = try #require(await stack.processIdentifier(of: .agent))
      var names: [String] = []
      for thread in try FileSystem.list("/proc/\(process)/task").map(\.name) {
        names.append(
          try Executables.text("/proc/\(process)/task/\(thread)/comm").trimmingCharacters(in: .newlines))
      }
      // A thread that has not named itself has the program's name: the first one, and those of libdispatch.
      #expect(names.count { $0 == "pullbox-agent" } == 1, "\(names)")
      #expect(names.contains("pullbox-sleep") && names.contains("pullbox-task"), "\(names)")
    }
  }
}
