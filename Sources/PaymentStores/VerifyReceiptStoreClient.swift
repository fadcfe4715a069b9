package import Commerce
package import CoreTypes
package import Crypto
package import HTTPClient
import PullboxAPI
package import PullboxAPIClient
package import Receipts
package import ServiceAPI
package import ServiceRuntime

/// Speaks to a store through `verifyReceipt`, at an address for each environment; which is asked, the store's answers
/// decide. The sandbox store is told of the end of a transaction, with the credential that only this server holds; a store
/// without a credential knows no such call: there the application ends its transactions by itself.
package struct VerifyReceiptStoreClient: PaymentStoreClient {
  /// Where a store is reached, and by what it knows this server.
  package struct Access: Sendable {
    /// Base URLs.
    package var addresses: [StoreEnvironment: String]
    /// The bearer token of the store that is told of ends of transactions.
    package var credential: Redacted<String>?
    /// `password` of each question.
    package var sharedSecret: Redacted<String>?

    /// Creates the client. Only with a credential are there calls; a call may take
    /// ``OutboxMachine/callTimeout``, a question 10 seconds.
    package init(
      addresses: [StoreEnvironment: String], credential: Redacted<String>? = nil,
      sharedSecret: Redacted<String>? = nil
    ) {
      self.addresses = addresses
      self.credential = credential
      self.sharedSecret = sharedSecret
    }
  }

  package let name: StoreIdentifier
  private let clients: [StoreEnvironment: APIClient]
  private let sharedSecret: Redacted<String>?
  /// For calls of the outbox, which can wait for longer than a reader; empty where there are none.
  private let calls: [StoreEnvironment: APIClient]
  private let policy: VerifyReceiptPolicy
  private let rules: ReceiptRules
  private let clock: any WallClock
  private let timer: any MonotonicClock
  private let reader: ReceiptReader

  package init(
    name: StoreIdentifier, access: Access, policy: VerifyReceiptPolicy, rules: ReceiptRules,
    client: HTTPClient, clock: any WallClock, timer: any MonotonicClock, reader: ReceiptReader
  ) {
    self.name = name
    self.rules = rules
    self.clock = clock
    let credential = access.credential?.revealed
    clients = access.addresses.mapValues { address in
      var client = APIClient(baseURL: address, credential: credential, client: client)
      client.timeout = .seconds(10)
      client.maximumResponseLength = .mebibytes(8)
      return client
    }
    sharedSecret = access.sharedSecret
    calls =
      credential == nil
      ? [:]
      : clients.mapValues { client in
        var client = client
        client.timeout = OutboxMachine.callTimeout
        return client
      }
    self.policy = policy
    self.timer = timer
    self.reader = reader
  }

  /// The receipt is checked here first, so that no store is asked about one that cannot count.
  package func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof {
    guard let text = proof.receipt, proof.signedTransaction == nil, proof.purchaseToken == nil else {
      throw .final(
        .receiptMalformed, "\(name) takes an app receipt, in the member receipt, and nothing else",
        onStoresWord: false)
    }
    let receipt: UnverifiedAppReceipt
    do {
      receipt = try await reader.read(text, digest: digest)
    } catch {
      throw .final(.receiptMalformed, "\(error)", onStoresWord: false)
    }
    try await check(receipt, digest: digest)
    let (verdict, outcome) = try await ask(about: receipt, text)
    return try verified(verdict, after: outcome)
  }

  /// Refuses what this server can tell from the receipt itself, so that no store is asked about it.
  private func check(_ receipt: UnverifiedAppReceipt, digest: SHA256Digest) async throws(StoreRefusal) {
    // The cheaper question first.
    guard policy.bundleIdentifiers.contains(receipt.claims.bundleIdentifier) else {
      throw .final(.receiptWrongApplication, onStoresWord: false)
    }
    if let minimum = rules.minimumVersion {
      let version = receipt.claims.applicationVersion
      guard let number = ApplicationVersion(version), number >= minimum else {
        throw .final(
          .receiptWrongApplication,
          "the receipt is of version '\(version.prefix(64))' of the application; those from \(minimum) on count",
          onStoresWord: false)
      }
    }
    guard !rules.roots.isEmpty else { return }
    do {
      let key = VerdictCache.Key(store: name, digest: digest)
      try await reader.verify(receipt, as: key, by: rules, at: clock.now())
    } catch let error as ReceiptError {
      throw .final(
        error.code == .malformed ? .receiptMalformed : .receiptNotAuthentic, "\(error)", onStoresWord: false)
    } catch {
      throw .abandoned
    }
  }

  @inline(never)
  private func verified(
    _ verdict: ReceiptVerdict, after outcome: CircuitBreaker.Outcome
  ) throws(StoreRefusal) -> VerifiedProof {
    let wasAsked = outcome != .abandoned
    switch verdict {
    case .valid(let verified):
      return VerifiedProof(
        transactions: verified.transactions(store: name), binding: verified.receipt.deviceBinding,
        expires: verified.expirationDate)
    case .malformed:
      throw .final(.receiptMalformed, "the store cannot read the receipt", onStoresWord: wasAsked)
    case .notAuthentic:
      throw .final(.receiptNotAuthentic, "the store does not vouch for the receipt", onStoresWord: wasAsked)
    case .wrongApplication: throw .final(.receiptWrongApplication, onStoresWord: wasAsked)
    case .wrongEnvironment: throw .final(.receiptWrongEnvironment, onStoresWord: wasAsked)
    case .undetermined(let retryAfter, let reason):
      throw .undetermined(retryAfter: retryAfter, cause: reason, outcome: outcome)
    }
  }

  /// Accepted at once where the store knows no such call.
  package func finish(_ transaction: TransactionIdentifier, in environment: StoreEnvironment) async
    -> StoreAnswer
  {
    // A store that the configuration names otherwise now has this one address all the same.
    guard let client = calls[environment] ?? calls.first?.value else { return StoreAnswer(answer: .accepted) }
    do {
      _ = try await client.exchange("POST", "/store/v1/transactions/\(transaction)/finish")
      return StoreAnswer(answer: .accepted)
    } catch {
      return StoreAnswer(answer: Self.answer(error), detail: "\(error)")
    }
  }

  /// Only the store's own word refuses a call: what a proxy answers, or a certificate that has expired, says
  /// that the store is not reached.
  package static func answer(_ error: APICallError) -> OutboxMachine.Answer {
    switch error {
    case .unreachable(let error) where error.code == .cancelled || error.code == .shutDown: .abandoned
    case .problem(let problem) where refusals.contains(problem.status): .refused
    case .problem, .unreachable, .unexpectedResponse: .unavailable(retryAfter: error.retryAfter)
    }
  }

  /// Statuses that are about the request, not about the state of the server.
  private static let refusals = Set(400..<500).subtracting([408, 429])

  /// Returns the outcome that a failed question has for the store's circuit breaker. A request that is refused, perhaps for
  /// the proof in it, says nothing against the store.
  package static func outcome(_ error: APICallError, retryAfter: Duration) -> CircuitBreaker.Outcome {
    switch error {
    case .problem(let problem) where refusals.contains(problem.status): .answered
    case .unexpectedResponse(let status, _, _, _) where refusals.contains(status): .abandoned
    case .problem, .unreachable, .unexpectedResponse: .failed(retryAfter: error.retryAfter ?? retryAfter)
    }
  }

  /// `text` is the receipt as it came, which is the one way to write it in base 64. The outcome is that of the
  /// last question, abandoned without one.
  private func ask(
    about receipt: UnverifiedAppReceipt, _ text: String
  ) async throws(StoreRefusal) -> (verdict: ReceiptVerdict, outcome: CircuitBreaker.Outcome) {
    var conversation = VerifyReceiptFlow(about: receipt, policy: policy)
    var step = conversation.start()
    var outcome = CircuitBreaker.Outcome.abandoned
    while true {
      switch step {
      case .finished(let verdict):
        return (verdict, outcome)
      case .ask(let environment, let delay):
        guard let client = clients[environment] else {
          preconditionFailure("the policy asks no environment without an address")
        }
        do {
          if delay > .zero { try await timer.sleep(for: delay) }
          let answer = try await client.call(
            "POST", "/verifyReceipt",
            body: VerifyReceiptRequest(receiptData: text, password: sharedSecret?.revealed),
            as: VerifyReceiptResponse.self)
          outcome =
            answer.value.status.isStoreFailure ? .failed(retryAfter: policy.retryAfter) : .answered
          step = conversation.handle(.response(answer.value))
        } catch let error as APICallError {
          if case .unreachable(let error) = error, error.code == .cancelled || error.code == .shutDown {
            throw .abandoned
          }
          outcome = Self.outcome(error, retryAfter: policy.retryAfter)
          step = conversation.handle(.failure(reason: "\(error)", retryAfter: error.retryAfter))
        } catch {
          // Only sleeping throws anything else, when the task is cancelled.
          throw .abandoned
        }
      }
    }
  }
}
