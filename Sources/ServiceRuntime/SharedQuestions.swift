import CoreTypes
import Synchronization

/// Questions that cost something to ask: a task that asks what is being asked already waits for the same answer.
///
///     let answer = try await questions.answer(to: digest) { try await store.verify(receipt) }
///
/// An error is shared like an answer. A task that is cancelled stops waiting, and the others go on; with the last
/// one that waits, the question is given up.
package final class SharedQuestions<Key: Hashable & Sendable, Answer: Sendable>: Sendable {
  /// A task that waits for an answer.
  private struct Waiter {
    /// Whether the question was asked by another task before.
    var isShared: Bool
    /// Resumed once, with the answer or an error.
    var continuation: CheckedContinuation<(answer: Answer, isShared: Bool), any Error>
  }

  /// A question under way.
  private struct Question {
    /// The number of the wait that asked it, by which a later question of the same key is told apart.
    var number: Int
    /// The task that asks; cancelled when no one waits any more.
    var task: Task<Void, Never>?
    /// The tasks that wait, by their numbers.
    var waiters: [Int: Waiter] = [:]
  }

  /// The questions under way.
  private struct State {
    /// The questions by their keys.
    var questions: [Key: Question] = [:]
    /// The last number that was given.
    var lastNumber = 0

    /// The next number, which no other wait has.
    mutating func nextNumber() -> Int {
      lastNumber += 1
      return lastNumber
    }
  }

  /// Guards the state. Only the task of a question resumes with an answer.
  private let state = Mutex(State())

  /// No question is being asked.
  package init() {}

  /// How many are being asked.
  package var count: Int { state.locked { $0.questions.count } }

  /// How many wait for answers.
  package var waiterCount: Int { state.locked { $0.questions.values.reduce(0) { $0 + $1.waiters.count } } }

  /// Asks by `ask`, unless the same is being asked; `isShared` says which. Throws what `ask` throws, and
  /// `CancellationError` when the task is cancelled.
  package func answer(
    to key: Key, asking ask: @escaping @Sendable () async throws -> Answer
  ) async throws -> (answer: Answer, isShared: Bool) {
    let number = state.locked { $0.nextNumber() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.locked { state in
          let isShared = state.questions[key] != nil
          if !isShared {
            // No request's own task: it goes on when the request that asked first is gone, and others wait.
            state.questions[key] = Question(
              number: number, task: Task { await self.settle(key, number, by: ask) })
          }
          state.questions[key]?.waiters[number] = Waiter(isShared: isShared, continuation: continuation)
        }
        // Before that there was none to leave.
        if Task.isCancelled { leave(key, waiter: number) }
      }
    } onCancel: {
      leave(key, waiter: number)
    }
  }

  /// Asks and gives the answer to all who wait. A question that was given up meanwhile, and perhaps asked anew, is left
  /// alone.
  private func settle(
    _ key: Key, _ question: Int, by ask: @escaping @Sendable () async throws -> Answer
  ) async {
    let result: Result<Answer, any Error>
    do {
      result = .success(try await ask())
    } catch {
      result = .failure(error)
    }
    let settled = state.locked { state in
      state.questions[key]?.number == question ? state.questions.removeValue(forKey: key) : nil
    }
    for waiter in settled?.waiters.values ?? [:].values {
      waiter.continuation.resume(with: result.map { ($0, waiter.isShared) })
    }
  }

  /// Ends one wait with `CancellationError`. The last one to leave cancels the question; a wait that has its answer is
  /// left alone.
  private func leave(_ key: Key, waiter: Int) {
    let (left, abandoned) = state.locked { state -> (Waiter?, Task<Void, Never>?) in
      guard let left = state.questions[key]?.waiters.removeValue(forKey: waiter) else { return (nil, nil) }
      guard state.questions[key]?.waiters.isEmpty == true else { return (left, nil) }
      return (left, state.questions.removeValue(forKey: key)?.task)
    }
    abandoned?.cancel()
    left?.continuation.resume(throwing: CancellationError())
  }
}
