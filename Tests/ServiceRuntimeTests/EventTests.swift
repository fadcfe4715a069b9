import ServiceRuntime
import Testing

struct EventTests {
  @Test("an event happens once, for every task that waits or comes later")
  func once() async {
    let event = Event()
    #expect(!event.hasHappened)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { await event.wait() } }
      #expect(event.happen())
    }
    #expect(!event.happen())
    #expect(event.hasHappened)
    await event.wait()
  }

  @Test("a cancelled wait returns without the event")
  func cancelled() async {
    let event = Event()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await event.wait() }
      group.cancelAll()
      group.addTask { await event.wait() }
    }
    #expect(!event.hasHappened)
  }
}
