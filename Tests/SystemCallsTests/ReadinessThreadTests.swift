import SystemCalls
import Testing

@Suite struct ReadinessThreadTests {
  @Test("a task waits until there is something to read") func readable() async throws {
    let thread = try ReadinessThread(name: "test")
    let socket = try NetlinkSocket.network()
    try socket.requestDump(of: .links, sequence: 1)
    #expect(await thread.wait(for: socket.number))
    guard case .messages(let bytes) = try socket.receive() else {
      Issue.record("the kernel has answered")
      return
    }
    #expect(bytes.count > 16)
  }

  @Test("a wait ends with its task, and the descriptor can be waited for again") func cancelled() async throws
  {
    let thread = try ReadinessThread(name: "test")
    // Nothing is asked of it.
    let socket = try NetlinkSocket.network()
    let waiting = Task { await thread.wait(for: socket.number) }
    waiting.cancel()
    #expect(await !waiting.value)
    let again = Task { await thread.wait(for: socket.number) }
    await Task.yield()
    again.cancel()
    #expect(await !again.value)
  }

  @Test("what cannot be waited for is not waited for") func file() async throws {
    let thread = try ReadinessThread(name: "test")
    let file = try FileDescriptor.open("/proc/self/comm", .readOnly)
    #expect(await !thread.wait(for: file.number))
  }
}
