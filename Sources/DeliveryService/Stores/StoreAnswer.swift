/// What became of a call that the outbox made.
struct StoreAnswer: Sendable {
  var answer: OutboxMachine.Answer
  /// For the operator, where it was not accepted.
  var detail: String?
}
