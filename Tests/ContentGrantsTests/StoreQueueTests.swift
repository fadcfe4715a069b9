import Commerce
import CoreTypes
import DeliveryModel
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import PaymentStores

@Suite("Calls to one store that are in hand")
struct StoreQueueTests {
  private static let failed = CircuitBreaker.Outcome.failed(retryAfter: nil)
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func call(_ id: Int64) throws -> StoreQueue.Call {
    StoreQueue.Call(
      entry: OutboxEntry(
        id: id, kind: .finish,
        subject: TransactionKey(
          store: .sandbox, environment: .sandbox, id: try #require(TransactionIdentifier("\(id)"))),
        payload: nil, attempts: 0, refusals: 0, nextAttempt: OutboxEntry.atOnce),
      wasDue: true, beginsBefore: start + .seconds(60))
  }

  /// Three at once; the calls 1 to `count`.
  private func queue(of count: Int64) throws -> StoreQueue {
    var queue = StoreQueue(concurrency: 3)
    for id in 1...count { #expect(queue.add(try call(id), at: start)) }
    return queue
  }

  private func ids(_ begun: [StoreQueue.Begun]) -> [Int64] { begun.map(\.call.entry.id) }

  @Test("as many run as may, in the order in which they came, and the end of one begins the next")
  func concurrency() throws {
    var queue = try queue(of: 5)
    let first = queue.begin(at: start).begun
    #expect(ids(first) == [1, 2, 3])
    #expect(queue.begin(at: start).begun.isEmpty)
    _ = queue.ended(first[1], .answered, at: start)
    #expect(ids(queue.begin(at: start).begun) == [4])
  }

  @Test(
    "while the store does not answer, a call that an operator asks for is the next probe; none while one runs"
  )
  func asked() throws {
    var queue = StoreQueue(concurrency: 3)
    func fail(_ id: Int64, at now: MonotonicInstant) throws -> CircuitBreaker.Permit {
      let begun = try #require(queue.begin(at: now).begun.first)
      #expect(begun.call.entry.id == id)
      _ = queue.ended(begun, Self.failed, at: now)
      queue.release(id, isAccepted: false)
      return begun.permit
    }
    for id in 1...5 as ClosedRange<Int64> {
      #expect(queue.add(try call(id), at: start))
      #expect(try fail(id, at: start) == .call(at: start))
    }
    let soon = start + .seconds(1)
    #expect(!queue.add(try call(6), at: soon))
    #expect(queue.addAsked(try call(6), at: soon))
    #expect(!queue.addAsked(try call(7), at: soon), "one stands in line")
    #expect(try fail(6, at: soon) == .probe)
    #expect(queue.breaker.nextProbe == soon + .seconds(30))
    #expect(queue.addAsked(try call(6), at: soon))
    let probe = try #require(queue.begin(at: soon).begun.first)
    #expect(!queue.addAsked(try call(7), at: soon + .seconds(1)), "one runs")
    _ = queue.ended(probe, .answered, at: soon + .seconds(2))
    #expect(queue.add(try call(7), at: soon + .seconds(2)))
  }

  @Test("a call is in hand once, until what became of it is written down")
  func once() throws {
    var queue = try queue(of: 1)
    #expect(!queue.add(try call(1), at: start))
    let begun = queue.begin(at: start).begun[0]
    #expect(!queue.add(try call(1), at: start))
    _ = queue.ended(begun, .answered, at: start)
    #expect(!queue.add(try call(1), at: start))
    queue.release(1, isAccepted: false)
    #expect(queue.add(try call(1), at: start))
  }

  @Test("what the store accepted is not called again for a row that was read before")
  func accepted() throws {
    var queue = try queue(of: 1)
    _ = queue.ended(queue.begin(at: start).begun[0], .answered, at: start)
    queue.release(1, isAccepted: true)
    #expect(queue.hasAccepted(1))
    #expect(!queue.add(try call(1), at: start))
    for id in 2...Int64(StoreQueue.maximumAccepted) + 1 { queue.release(id, isAccepted: true) }
    #expect(!queue.hasAccepted(1))
  }

  @Test(
    "a failure is the call's alone when the store has answered another since the last one, and then it counts not against the store"
  )
  func alone() throws {
    var queue = StoreQueue(concurrency: 3)
    func end(_ id: Int64, _ outcome: CircuitBreaker.Outcome) throws -> StoreQueue.End {
      #expect(queue.add(try call(id), at: start))
      let begun = try #require(queue.begin(at: start).begun.first)
      defer { queue.release(id, isAccepted: false) }
      return queue.ended(begun, outcome, at: start)
    }
    #expect(try !end(1, Self.failed).isAlone)
    #expect(try !end(1, Self.failed).isAlone)
    for _ in 0..<2 * CircuitBreaker.failureThreshold {
      #expect(try !end(2, .answered).isAlone)
      #expect(try end(1, Self.failed).isAlone)
      #expect(!queue.breaker.isOpen)
    }
    // A store that says when to come again is busy; one whose answer is not known says nothing.
    #expect(try !end(2, .answered).isAlone)
    #expect(try !end(1, .abandoned).isAlone)
    #expect(try !end(1, .failed(retryAfter: .seconds(1))).isAlone)
    for id in 3..<3 + Int64(CircuitBreaker.failureThreshold) - 1 {
      #expect(!queue.breaker.isOpen)
      #expect(try !end(id, Self.failed).isAlone)
    }
    #expect(queue.breaker.isOpen)
  }

  @Test("as many dropped calls are remembered as accepted ones, the last of them")
  func dropped() throws {
    var queue = StoreQueue(concurrency: 3)
    for id in 1...Int64(StoreQueue.maximumExcluded) {
      let isExcluded = queue.exclude(id)
      #expect(isExcluded)
    }
    #expect(!queue.add(try call(1), at: start))
    // Again, which makes it the last one.
    _ = queue.exclude(1)
    _ = queue.exclude(1000)
    #expect(!queue.add(try call(1), at: start))
    #expect(queue.add(try call(2), at: start))
    #expect(!queue.add(try call(3), at: start))
    queue.readmit(3)
    #expect(queue.add(try call(3), at: start))
  }

  @Test("there is room for twice as many as may run, and for a probe alone while the store is silent")
  func room() throws {
    var queue = StoreQueue(concurrency: 3)
    #expect(queue.room(at: start) == .calls(6))
    queue = try self.queue(of: 5)
    let begun = queue.begin(at: start).begun
    #expect(queue.room(at: start) == .calls(1))
    for call in begun { _ = queue.ended(call, Self.failed, at: start) }
    for call in queue.begin(at: start).begun { _ = queue.ended(call, Self.failed, at: start) }
    #expect(queue.room(at: start) == .none)
    #expect(queue.room(at: start + .seconds(30)) == .probe)
  }

  @Test("when the breaker opens the line is given back, and nothing is added until a probe may be made")
  func opening() throws {
    var queue = try queue(of: 20)
    var ended = 0
    var givenBack: [Int64] = []
    while !queue.breaker.isOpen {
      for call in queue.begin(at: start).begun {
        let end = queue.ended(call, Self.failed, at: start)
        ended += 1
        givenBack += end.givenBack
        #expect(end.change == (ended == 5 ? .opened : nil))
      }
    }
    #expect(givenBack == Array(7...20))
    #expect(queue.inHand == [1, 2, 3, 4, 5, 6])
    #expect(!queue.accepts(at: start))
    #expect(!queue.add(try call(30), at: start))
    let later = start + .seconds(30)
    #expect(queue.add(try call(30), at: later))
    #expect(!queue.add(try call(31), at: later))
    let probe = queue.begin(at: later).begun
    #expect(probe.map(\.permit) == [.probe])
    #expect(queue.room(at: later) == .none)
    #expect(queue.ended(probe[0], .answered, at: later).change == .closed)
    #expect(queue.accepts(at: later))
  }

  @Test("a call that stood in line for longer than its claim allows is not begun")
  func expired() throws {
    var queue = try queue(of: 2)
    let (begun, givenBack) = queue.begin(at: start + .seconds(60))
    #expect(begun.isEmpty)
    #expect(givenBack == [1, 2])
    #expect(queue.inHand.isEmpty)
  }

  @Test("the line has an end")
  func bound() throws {
    var queue = try queue(of: Int64(StoreQueue.maximumLine))
    #expect(!queue.add(try call(1000), at: start))
    _ = queue.begin(at: start)
    #expect(queue.add(try call(1000), at: start))
  }

  @Test("it runs low when half of what it may hold is left, and the table has more")
  func runningLow() throws {
    var queue = try queue(of: 4)
    queue.mayHaveMore = true
    #expect(!queue.isRunningLow)
    let begun = queue.begin(at: start).begun
    _ = queue.ended(begun[0], .answered, at: start)
    #expect(queue.isRunningLow)
    queue.mayHaveMore = false
    #expect(!queue.isRunningLow)
  }
}
