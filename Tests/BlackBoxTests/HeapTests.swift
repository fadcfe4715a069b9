import Files
import Foundation
import PullboxTesting
import SystemCalls
import Testing

/// The memory that the processes take from the system, seen from outside.
@Suite("What processes take from the system", .timeLimit(.minutes(10)))
struct HeapTests {
  /// glibc's heaps other than the first begin at multiples of this.
  private static let alignment: UInt64 = 64 << 20

  @Test("the server may open as many files as the system lets it, whatever its shell began it with")
  func descriptors() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-url", "http://127.0.0.1:9",
        "--store-credential", "unused", "--operator-key", "operator-key-of-a-test",
      ], name: "server", in: directory)
    let limits = try Executables.text("/proc/\(daemon.process.identifier)/limits")
    let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    let columns = line.split(separator: " ")
    #expect(columns[3] == columns[4])
    await daemon.process.killAndWait()
  }

  @Test(
    "the server allocates by jemalloc, which read the settings that it was built with",
    .enabled(if: !Sanitizer.isUsed, "a sanitizer allocates"))
  func allocator() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-url", "http://127.0.0.1:9",
        "--store-credential", "unused", "--operator-key", "operator-key-of-a-test",
      ], name: "server", in: directory)
    let process = daemon.process.identifier
    // Where another library's malloc were used, or jemalloc's own settings, there were no such thread.
    try await eventually {
      // What has ended since it was listed is another thread.
      try FileSystem.list("/proc/\(process)/task").contains { thread in
        (try? Executables.text("/proc/\(process)/task/\(thread.name)/comm")) == "jemalloc_bg_thd\n"
      }
    }
    await daemon.process.killAndWait()
  }

  @Test("threads of the agent that allocate at the same time share two heaps")
  func heaps() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server, .agent])) { stack in
      await withTaskGroup { group in
        for _ in 0..<64 {
          group.addTask { #expect((try? await stack.agent.transactions())?.isEmpty == true) }
        }
      }
      let process = try #require(await stack.processIdentifier(of: .agent))
      let maps = try Executables.text("/proc/\(process)/maps")
      let lines = maps.split(separator: "\n").map { line in
        let parts = line.split(separator: " ", omittingEmptySubsequences: true)
        let bounds = parts[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
        return (start: bounds[0], end: bounds[1], access: String(parts[1]), isAnonymous: parts.count == 5)
      }
      // A heap is a part that is in use and a part that is kept for it, one behind the other and 64 MiB together.
      let heaps = zip(lines, lines.dropFirst()).count { used, kept in
        used.start.isMultiple(of: Self.alignment) && used.access == "rw-p" && used.isAnonymous
          && kept.start == used.end && kept.access == "---p" && kept.end == used.start + Self.alignment
      }
      // Each of them may grow into another 64 MiB, which this little work does not ask for.
      #expect(heaps <= 1)
    }
  }
}
