import CoreTypes
import PullboxTesting
import Synchronization
import Testing

@testable import DownloadAgent

@Suite("Answers that serve for a moment")
struct RecentAnswersTests {
  private struct Refusal: Error {}
  private typealias Answers = RecentAnswers<String, Int, Refusal>

  private let clock = ManualMonotonicClock()

  @Test("an answer serves for its lifetime, and is asked for again after it or once it was removed")
  func lifetime() async throws {
    let answers = Answers(lifetime: .seconds(10), clock: clock)
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 1 } == (1, false))
    clock.advance(by: .seconds(9))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 2 } == (1, true))
    clock.advance(by: .seconds(1))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 3 } == (3, false))
    await answers.removeAll()
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 4 } == (4, false))
  }

  @Test("of more answers than there is room for, the oldest goes")
  func capacity() async throws {
    let answers = Answers(lifetime: .seconds(10), capacity: 2, clock: clock)
    for (number, question) in ["a", "b", "c"].enumerated() {
      _ = try await answers.value(of: question) { () throws(Refusal) in number }
      clock.advance(by: .seconds(1))
    }
    #expect(try await answers.value(of: "c") { () throws(Refusal) in 7 } == (2, true))
    #expect(try await answers.value(of: "b") { () throws(Refusal) in 8 } == (1, true))
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 9 } == (9, false))
  }

  @Test("a failure is not kept")
  func failure() async throws {
    let answers = Answers(lifetime: .seconds(10), clock: clock)
    await #expect(throws: Refusal.self) {
      try await answers.value(of: "a") { () throws(Refusal) in throw Refusal() }
    }
    #expect(try await answers.value(of: "a") { () throws(Refusal) in 2 } == (2, false))
  }

  /// Questions that are answered when the test says so.
  private final class Service: Sendable {
    private let state = Mutex((asked: 0, waiting: [CheckedContinuation<Void, Never>]()))

    var asked: Int { state.withLock { $0.asked } }

    func ask(_ answer: Int) async -> Int {
      // What runs in a task that is given up ends at once.
      guard !Task.isCancelled else { return answer }
      await withCheckedContinuation { continuation in
        state.withLock { state in
          state.asked += 1
          state.waiting.append(continuation)
        }
      }
      return answer
    }

    func answer() {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  /// Returns once that many wait for the answer, and it is asked for.
  private func waiters(_ count: Int, of answers: Answers, _ service: Service) async {
    while answers.waiterCount < count || service.asked == 0 { await Task.yield() }
  }

  @Test("all who ask at the same time share one question, and those who come after it the answer")
  func shared() async throws {
    let (answers, service) = (Answers(lifetime: .seconds(10), clock: clock), Service())
    let readers = (1...3).map { number in
      Task { try await answers.value(of: "a") { () throws(Refusal) in await service.ask(number) } }
    }
    await waiters(3, of: answers, service)
    service.answer()
    var told: [(value: Int, isKept: Bool)] = []
    for reader in readers { told.append(try await reader.value) }
    #expect(service.asked == 1)
    #expect(Set(told.map(\.value)).count == 1 && told.count { !$0.isKept } == 1)
    let last = try await answers.value(of: "a") { () throws(Refusal) in 7 }
    #expect(last.isKept && last.value == told.first?.value)
  }

  @Test("who gives up asking leaves the question to those who wait for it: it is not asked again")
  func givenUp() async throws {
    let (answers, service) = (Answers(lifetime: .seconds(10), clock: clock), Service())
    let first = Task { try await answers.value(of: "a") { () throws(Refusal) in await service.ask(1) } }
    await waiters(1, of: answers, service)
    let second = Task { try await answers.value(of: "a") { () throws(Refusal) in await service.ask(2) } }
    await waiters(2, of: answers, service)
    first.cancel()
    _ = try? await first.value
    service.answer()
    #expect(try await second.value == (1, true))
    #expect(service.asked == 1)
  }

  @Test("who waits for an answer that was removed meanwhile asks anew, and who asked has it")
  func removed() async throws {
    let (answers, service) = (Answers(lifetime: .seconds(10), clock: clock), Service())
    let first = Task { try await answers.value(of: "a") { () throws(Refusal) in await service.ask(1) } }
    await waiters(1, of: answers, service)
    let second = Task { try await answers.value(of: "a") { () throws(Refusal) in 2 } }
    await waiters(2, of: answers, service)
    await answers.removeAll()
    service.answer()
    #expect(try await first.value == (1, false))
    #expect(try await second.value == (2, false))
  }
}
