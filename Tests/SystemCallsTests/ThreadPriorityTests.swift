import SystemCalls
import Testing

@Suite struct ThreadPriorityTests {
  @Test("a thread stands back at the disk, and comes back to what it was") func standing() async {
    let thread = BlockingThread(name: "test")
    func standsBack(_ priority: ThreadPriority) async -> Bool {
      await thread.run {
        priority.applyToThread()
        return ThreadPriority.standsBackAtDisks
      }
    }
    let before = await thread.run { ThreadPriority.standsBackAtDisks }
    #expect(await standsBack(.background))
    #expect(await !standsBack(.normal))
    #expect(await standsBack(.ofProcess) == before)
  }

  @Test("one thread's turn is no other's") func others() async {
    let (first, second) = (BlockingThread(name: "first"), BlockingThread(name: "second"))
    await first.run { ThreadPriority.background.applyToThread() }
    #expect(await first.run { ThreadPriority.standsBackAtDisks })
    #expect(await !second.run { ThreadPriority.standsBackAtDisks })
  }
}
