import Foundation
import PullboxTesting
import SystemCalls
import Testing

/// The threads that run in an agent that has nothing to do, seen from outside.
@Suite("The threads of an agent", .timeLimit(.minutes(10)))
struct AgentThreadsTests {
  @Test("none is libdispatch's, whose workers are counted every second")
  func names() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server, .agent])) { stack in
      #expect(try await stack.agent.transactions().isEmpty)
      let process = try #require(await stack.processIdentifier(of: .agent))
      @Sendable func threadNames() throws -> [String] {
        try FileSystem.list("/proc/\(process)/task").map { thread in
          try Executables.text("/proc/\(process)/task/\(thread.name)/comm").trimmingCharacters(in: .newlines)
        }
      }
      // Tasks have run by then, and soon one sleeps.
      try await eventually { try threadNames().contains("pullbox-sleep") }
      let names = try threadNames()
      // A thread that has not named itself has the program's name: the first one, and those of libdispatch.
      #expect(names.count { $0 == "pullbox-agent" } == 1, "\(names)")
      #expect(names.contains("pullbox-task"), "\(names)")
    }
  }
}
