import SystemCalls
import Testing

@Suite struct BlockingThreadTests {
  private actor Register {
    private let thread = BlockingThread(name: "register")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }
    private var entries: [Int] = []

    func append(_ entry: Int) -> Bool {
      entries.append(entry)
      return thread.isCurrent
    }

    nonisolated func entriesAndWait() -> [Int] {
      thread.runAndWait { self.assumeIsolated { $0.entries } }
    }
  }

  @Test("an actor on a blocking thread runs there and nowhere else") func confinement() async {
    let register = Register()
    for number in 0..<3 { #expect(await register.append(number)) }
    #expect(await BlockingPool.shared.run { register.entriesAndWait() } == [0, 1, 2])
  }

  @Test("bodies run in the order in which they were asked for") func order() async {
    let thread = BlockingThread(name: "test")
    var seen: [Int] = []
    for number in 0..<100 { seen.append(await thread.run { number }) }
    #expect(seen == Array(0..<100))
    #expect(!thread.isCurrent)
  }
}
