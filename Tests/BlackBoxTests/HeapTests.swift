import Foundation
import HTTPClient
import PullboxTesting
import Testing

/// What the server's process takes from the system, seen from outside.
@Suite("The heaps of the server", .timeLimit(.minutes(10)))
struct HeapTests {
  /// glibc's heaps other than the first begin at multiples of this.
  private static let alignment: UInt64 = 64 << 20

  @Test("threads that allocate at the same time share two heaps")
  func heaps() async throws {
    let directory = try TemporaryDirectory()
    let daemon = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-url", "http://127.0.0.1:9",
        "--store-credential", "unused", "--operator-key", "operator-key-of-a-test",
      ], name: "server", in: directory)
    let client = try HTTPClient()
    let port = try #require(daemon.port)
    let web = Web(base: "http://127.0.0.1:\(port)", client: client)
    await withTaskGroup { group in
      for _ in 0..<64 {
        group.addTask { #expect((try? await web.get("/v1/products"))?.status == 200) }
      }
    }
    let maps = try Executables.text("/proc/\(daemon.process.identifier)/maps")
    // The first line of a heap begins there, is written to, and maps no file; long allocations lie elsewhere.
    let heaps = maps.split(separator: "\n").count { line in
      let parts = line.split(separator: " ", omittingEmptySubsequences: true)
      guard parts.count == 5, parts[1] == "rw-p",
        let start = parts[0].split(separator: "-").first.flatMap({ UInt64($0, radix: 16) })
      else { return false }
      return start.isMultiple(of: Self.alignment)
    }
    // Each of them may grow into another 64 MiB, which this little work does not ask for.
    #expect(heaps <= 1)
    client.shutDown()
    await daemon.process.killAndWait()
  }
}
