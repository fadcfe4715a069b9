import Synchronization
import Testing

@testable import ServiceRuntime

@Suite("Questions that are shared", .timeLimit(.minutes(1)))
struct SharedQuestionsTests {
  private struct Refusal: Error, Equatable {}

  /// Asks when the test lets it.
  private final class Source: Sendable {
    private struct State {
      var asked = 0
      var cancelled = 0
      var isOpen = false
      var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    var asked: Int { state.withLock { $0.asked } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    func ask() async throws -> Int {
      let number = state.withLock { state in
        state.asked += 1
        return state.asked
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isOpen = state.withLock { state in
            if !state.isOpen { state.held.append(continuation) }
            return state.isOpen
          }
          if isOpen { continuation.resume() }
        }
      } onCancel: {
        state.withLock { $0.cancelled += 1 }
        open()
      }
      try Task.checkCancellation()
      return number
    }

    func open() {
      let held = state.withLock { state in
        state.isOpen = true
        defer { state.held = [] }
        return state.held
      }
      for continuation in held { continuation.resume() }
    }
  }

  /// Returns when the condition holds; other tasks run meanwhile.
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test("a thousand that ask the same at once are answered by one question")
  func oneQuestion() async throws {
    let (questions, source) = (SharedQuestions<String, Int>(), Source())
    let answers = try await withThrowingTaskGroup { group in
      for _ in 0..<1000 {
        group.addTask { try await questions.answer(to: "a") { try await source.ask() } }
      }
      await until { questions.waiterCount == 1000 }
      source.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(source.asked == 1)
    #expect(answers.allSatisfy { $0.answer == 1 })
    #expect(answers.count { !$0.isShared } == 1)
    #expect(questions.count == 0)
  }

  @Test("different questions are asked beside each other, and a later one anew")
  func others() async throws {
    let (questions, source) = (SharedQuestions<String, Int>(), Source())
    source.open()
    #expect(try await questions.answer(to: "a") { try await source.ask() }.answer == 1)
    #expect(try await questions.answer(to: "a") { try await source.ask() }.answer == 2)
    #expect(try await questions.answer(to: "b") { try await source.ask() }.answer == 3)
  }

  @Test("an error is shared by all who waited, and by no later one")
  func errors() async throws {
    let (questions, source) = (SharedQuestions<String, Int>(), Source())
    await withTaskGroup { group in
      for _ in 0..<10 {
        group.addTask {
          await #expect(throws: Refusal.self) {
            _ = try await questions.answer(to: "a") {
              _ = try await source.ask()
              throw Refusal()
            }
          }
        }
      }
      await until { questions.waiterCount == 10 }
      source.open()
    }
    #expect(source.asked == 1)
    #expect(try await questions.answer(to: "a") { try await source.ask() }.answer == 2)
  }

  @Test("the one that asked first may go: those who joined get the answer")
  func cancelledWaiter() async throws {
    let (questions, source) = (SharedQuestions<String, Int>(), Source())
    let first = Task { try await questions.answer(to: "a") { try await source.ask() } }
    await until { questions.waiterCount == 1 }
    let second = Task { try await questions.answer(to: "a") { try await source.ask() } }
    await until { questions.waiterCount == 2 }
    first.cancel()
    await #expect(throws: CancellationError.self) { _ = try await first.value }
    #expect(source.cancelled == 0)
    source.open()
    #expect(try await second.value.answer == 1)
    #expect(source.asked == 1)
  }

  @Test("when all have gone the question is given up, and the next one is asked anew")
  func allCancelled() async throws {
    let (questions, source) = (SharedQuestions<String, Int>(), Source())
    let only = Task { try await questions.answer(to: "a") { try await source.ask() } }
    await until { source.asked == 1 }
    only.cancel()
    await #expect(throws: CancellationError.self) { _ = try await only.value }
    await until { source.cancelled == 1 }
    #expect(questions.count == 0)
    #expect(try await questions.answer(to: "a") { try await source.ask() }.answer == 2)
  }
}
