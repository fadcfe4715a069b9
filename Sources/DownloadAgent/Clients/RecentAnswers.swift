import CoreTypes

/// Answers that serve for a moment, at most ``capacity`` of them: each question is asked once, however many ask it at the same
/// time, and what it failed with is shared as well.
///
///     let answer = try await answers.value(of: question) { try await service.ask(question) }
actor RecentAnswers<Question: Hashable & Sendable, Value: Sendable, Failure: Error> {
  private let lifetime: Duration
  private let capacity: Int
  private let clock: any MonotonicClock
  private var kept: [Question: (value: Value, until: MonotonicInstant)] = [:]
  /// By what is being asked: those that wait for the end of it, which is told as a failure or as nil.
  private var waiting: [Question: [CheckedContinuation<Failure?, Never>]] = [:]
  /// Counts the removals: what was asked before one is not kept after it.
  private var removals = 0

  /// An answer is kept for `lifetime`; of more than `capacity`, the oldest make room.
  init(lifetime: Duration, capacity: Int = 1, clock: any MonotonicClock) {
    self.lifetime = lifetime
    self.capacity = capacity
    self.clock = clock
  }

  /// The kept answer, or what `ask` brings; `isKept` tells that this call asked nothing. Throws what `ask`
  /// throws, also to all who waited for it. A caller whose task is cancelled while it asks takes nothing from
  /// the others: the next of them asks.
  func value(
    of question: Question, asking ask: () async throws(Failure) -> Value
  ) async throws(Failure) -> (value: Value, isKept: Bool) {
    while true {
      if let kept = kept[question], clock.now() < kept.until { return (kept.value, true) }
      guard waiting[question] != nil else { break }
      if let failure = await withCheckedContinuation({ waiting[question, default: []].append($0) }) {
        throw failure
      }
    }
    waiting[question] = []
    let removals = removals
    do {
      let value = try await ask()
      if removals == self.removals { keep(value, of: question) }
      end(question, with: nil)
      return (value, false)
    } catch {
      // One that was given up says nothing of the service: the next of those that wait asks.
      end(question, with: Task.isCancelled ? nil : error)
      throw error
    }
  }

  /// The next question of each kind is asked again. A question that is under way is answered to the caller
  /// that asked it; those who wait for it ask anew.
  func removeAll() {
    kept = [:]
    removals += 1
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

  /// Wakes all that wait; those look again.
  private func end(_ question: Question, with failure: Failure?) {
    for continuation in waiting.removeValue(forKey: question) ?? [] {
      continuation.resume(returning: failure)
    }
  }
}
