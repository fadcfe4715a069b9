import Synchronization

/// Questions that cost something to ask: a task that asks what is being asked already waits for the same answer.
///
///     let answer = try await questions.answer(to: digest) { try await store.verify(receipt) }
///
/// An error is shared like an answer. A task that is cancelled stops waiting, and the others go on; with the last
/// one that waits, the question is given up.
final class SharedQuestions<Key: Hashable & Sendable, Answer: Sendable>: Sendable {
  private struct Question {
    var number: Int
    var task: Task<Void, Never>?
    var waiters: [Int: AsyncStream<Result<Answer, any Error>>.Continuation] = [:]
  }

  private struct State {
    var questions: [Key: Question] = [:]
    var lastNumber = 0

    mutating func nextNumber() -> Int {
      lastNumber += 1
      return lastNumber
    }
  }

  private let state = Mutex(State())

  /// How many are being asked.
  var count: Int { state.withLock { $0.questions.count } }

  /// How many wait for answers.
  var waiterCount: Int { state.withLock { $0.questions.values.reduce(0) { $0 + $1.waiters.count } } }

  /// Asks by `ask`, unless the same is being asked; `isShared` says which. Throws what `ask` throws, and
  /// `CancellationError` when the task is cancelled.
  func answer(
    to key: Key, asking ask: @escaping @Sendable () async throws -> Answer
  ) async throws -> (answer: Answer, isShared: Bool) {
    let (stream, waiter) = AsyncStream.makeStream(of: Result<Answer, any Error>.self)
    let (question, number, isShared) = state.withLock { state in
      let number = state.nextNumber()
      if state.questions[key] != nil {
        state.questions[key]?.waiters[number] = waiter
        return (state.questions[key]?.number ?? number, number, true)
      }
      var question = Question(number: number)
      question.waiters[number] = waiter
      // No request's own task: it goes on when the request that asked first is gone, and others wait.
      question.task = Task { await self.settle(key, number, by: ask) }
      state.questions[key] = question
      return (number, number, false)
    }
    for await result in stream { return (try result.get(), isShared) }
    leave(key, question: question, waiter: number)
    throw CancellationError()
  }

  private func settle(
    _ key: Key, _ question: Int, by ask: @escaping @Sendable () async throws -> Answer
  ) async {
    let result: Result<Answer, any Error>
    do {
      result = .success(try await ask())
    } catch {
      result = .failure(error)
    }
    let settled = state.withLock { state in
      state.questions[key]?.number == question ? state.questions.removeValue(forKey: key) : nil
    }
    for waiter in settled?.waiters.values ?? [:].values {
      waiter.yield(result)
      waiter.finish()
    }
  }

  private func leave(_ key: Key, question: Int, waiter: Int) {
    let abandoned = state.withLock { state -> Task<Void, Never>? in
      guard state.questions[key]?.number == question else { return nil }
      state.questions[key]?.waiters[waiter] = nil
      guard state.questions[key]?.waiters.isEmpty == true else { return nil }
      return state.questions.removeValue(forKey: key)?.task
    }
    abandoned?.cancel()
  }
}
