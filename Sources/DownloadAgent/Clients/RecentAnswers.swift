import CoreTypes
import ServiceRuntime

/// Answers that serve for a moment, at most ``capacity`` of them: each question is asked once, however many ask it at the same
/// time, and what it failed with is shared as well.
///
///     let answer = try await answers.value(of: question) { try await service.ask(question) }
actor RecentAnswers<Question: Hashable & Sendable, Value: Sendable, Failure: Error> {
  /// A question as it was asked between two removals.
  private struct Asked: Hashable, Sendable {
    /// The question itself.
    var question: Question
    /// The number of removals when it was asked.
    var removals: Int
  }

  /// The time that an answer serves for.
  private let lifetime: Duration
  /// The number of answers that are kept.
  private let capacity: Int
  /// The clock of lifetimes.
  private let clock: any MonotonicClock
  /// The questions under way, each shared by all who ask it.
  private let questions = SharedQuestions<Asked, Result<Value, Failure>>()
  /// The answers with the instants at which they end.
  private var kept: [Question: (value: Value, until: MonotonicInstant)] = [:]
  /// Counts the removals: what was asked before one is not kept after it.
  private var removals = 0

  /// An answer is kept for `lifetime`; of more than `capacity`, the oldest make room.
  init(lifetime: Duration, capacity: Int = 1, clock: any MonotonicClock) {
    self.lifetime = lifetime
    self.capacity = capacity
    self.clock = clock
  }

  /// How many wait for answers.
  nonisolated var waiterCount: Int { questions.waiterCount }

  /// The kept answer, or what `ask` brings; `isKept` tells that this call asked nothing. Throws what `ask`
  /// throws, also to all who waited for it. A caller whose task is cancelled takes nothing from the others, who wait on for the
  /// same answer, and itself fails with what `ask` throws in a task that is cancelled.
  func value(
    of question: Question, asking ask: @escaping @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> (value: Value, isKept: Bool) {
    while true {
      if let value = fresh(question) { return (value, true) }
      let asked = Asked(question: question, removals: removals)
      guard let (answer, isShared) = await answer(to: asked, asking: ask) else {
        return (try await ask(), false)
      }
      let value = try answer.get()
      guard removals == asked.removals else {
        // Something was removed meanwhile: who only waited asks anew.
        if isShared { continue }
        return (value, false)
      }
      return (value, isShared)
    }
  }

  /// The kept answer while it serves.
  private func fresh(_ question: Question) -> Value? {
    guard let kept = kept[question], clock.now() < kept.until else { return nil }
    return kept.value
  }

  /// Nil where the caller's task is cancelled: nothing else ends a question without an answer or a failure.
  private func answer(
    to asked: Asked, asking ask: @escaping @Sendable () async throws(Failure) -> Value
  ) async -> (answer: Result<Value, Failure>, isShared: Bool)? {
    try? await questions.answer(to: asked) { [self] in
      do throws(Failure) {
        let value = try await ask()
        // While the question is under way: who comes when it is over finds its answer.
        await note(value, asked: asked)
        return .success(value)
      } catch {
        return .failure(error)
      }
    }
  }

  /// The next question of each kind is asked again. A question that is under way is answered to the caller
  /// that asked it; those who wait for it ask anew.
  func removeAll() {
    kept = [:]
    removals += 1
  }

  /// Keeps an answer, unless something was removed since it was asked for.
  private func note(_ value: Value, asked: Asked) {
    guard removals == asked.removals else { return }
    keep(value, of: asked.question)
  }

  /// Replaces what was kept for the question.
  private func keep(_ value: Value, of question: Question) {
    if kept.count >= capacity, kept[question] == nil,
      let oldest = kept.min(by: { $0.value.until < $1.value.until })
    {
      kept[oldest.key] = nil
    }
    kept[question] = (value, clock.now() + lifetime)
  }
}
