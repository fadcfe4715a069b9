import Glibc
import SystemCalls
import Testing

@Suite struct ThreadPriorityTests {
  /// Whether the calling thread's disk requests go behind all others': ioprio_get(2), which has no wrapper, tells `IOPRIO_CLASS_IDLE`.
  private static func standsBack() -> Bool {
    #if arch(x86_64)
      let number = 252
    #else
      let number = 31
    #endif
    typealias Call = @convention(c) (Int, Int, Int) -> Int
    guard let symbol = unsafe dlsym(nil, "syscall") else { return false }
    return unsafe unsafeBitCast(symbol, to: Call.self)(number, 1, 0) >> 13 == 3
  }

  @Test("a thread stands back at the disk, and comes back to what it was") func standing() async {
    let thread = BlockingThread(name: "test")
    func standsBack(_ priority: ThreadPriority) async -> Bool {
      await thread.run {
        priority.applyToThread()
        return Self.standsBack()
      }
    }
    let before = await thread.run { Self.standsBack() }
    #expect(await standsBack(.background))
    #expect(await !standsBack(.normal))
    #expect(await standsBack(.ofProcess) == before)
  }

  @Test("one thread's turn is no other's") func others() async {
    let (first, second) = (BlockingThread(name: "first"), BlockingThread(name: "second"))
    await first.run { ThreadPriority.background.applyToThread() }
    #expect(await first.run { Self.standsBack() })
    #expect(await !second.run { Self.standsBack() })
  }
}
