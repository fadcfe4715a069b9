package import Commerce
package import Crypto
import PullboxAPI
package import ServiceAPI

/// A payment store as the grant service needs it: it says whether a proof is genuine, and it is told when a
/// transaction is finished. An implementation speaks one store's protocol.
///
/// Its questions are asked on the path of a request and are short; its calls are the outbox's, which repeats
/// them until they are accepted. A cancelled task leaves a question abandoned.
package protocol PaymentStoreClient: Sendable {
  /// The store's name in the configuration.
  var name: StoreIdentifier { get }

  /// Asks the store, server to server, what it vouches for; `digest` is that of the proof. Throws the refusal:
  /// malformed, not authentic, wrong application or environment, or undetermined.
  func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof

  /// Whether ``standing(of:)`` has an answer.
  var tellsOfTransactions: Bool { get }

  /// How a transaction stands now, asked by its name alone, whatever was shown of it; nil where the store has no such
  /// question. Throws the refusal as ``verify(_:digest:)`` does.
  func standing(of transaction: TransactionIdentifier) async throws(StoreRefusal) -> VerifiedTransaction?

  /// Tells the store that the transaction of that environment is finished. Idempotent.
  func finish(_ transaction: TransactionIdentifier, in environment: StoreEnvironment) async -> StoreAnswer

  /// Tells the store that what the transaction pays for was delivered; `reference` is that of its ``Acknowledgement``.
  /// Idempotent: what is acknowledged already is accepted.
  func acknowledge(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer

  /// The same for what may be bought again then.
  func consume(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer

  /// Answers what the store asked about a purchase that may be refunded. Idempotent.
  func tell(
    _ consumption: ConsumptionStatement, of transaction: TransactionIdentifier,
    in environment: StoreEnvironment
  ) async -> StoreAnswer
}

/// The answers of a store that has no such calls.
extension PaymentStoreClient {
  package var tellsOfTransactions: Bool { false }

  package func standing(of transaction: TransactionIdentifier) async throws(StoreRefusal)
    -> VerifiedTransaction?
  {
    nil
  }

  package func acknowledge(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    StoreAnswer(answer: .refused, detail: "\(name) takes no acknowledgements")
  }

  package func consume(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    StoreAnswer(answer: .refused, detail: "\(name) consumes nothing")
  }

  package func tell(
    _ consumption: ConsumptionStatement, of transaction: TransactionIdentifier,
    in environment: StoreEnvironment
  ) async -> StoreAnswer {
    StoreAnswer(answer: .refused, detail: "\(name) takes no statements on consumption")
  }
}

/// The outcome of a call that the outbox made.
package struct StoreAnswer: Sendable {
  /// The answer, for ``OutboxMachine``.
  package var answer: OutboxMachine.Answer
  /// Why it was not accepted, for the operator.
  package var detail: String?

  package init(answer: OutboxMachine.Answer, detail: String? = nil) {
    self.answer = answer
    self.detail = detail
  }
}
