import PullboxAPI

extension Problem {
  /// Why nothing is sent: one of ``RevocationList``'s reasons. What is damaged may be repaired soon.
  static func stopped(_ reason: ProblemCode) -> Problem {
    Problem(reason, retryAfterSeconds: reason == .contentDamaged ? 60 : nil)
  }
}
