public import Commerce
import CoreTypes

/// Asks a store's `verifyReceipt` about one receipt, as a pure state machine: what came back goes in, the next step comes
/// out. The caller sends the requests and waits.
///
/// ```swift
/// var flow = VerifyReceiptFlow(about: receipt, policy: policy)
/// var step = flow.start()
/// while case .ask(let environment, let wait) = step {
///   try await clock.sleep(for: wait)
///   step = flow.handle(await post(receipt, to: environment))
/// }
/// ```
///
/// The first question goes to production where production can be asked; a receipt that belongs to the sandbox is put to the
/// sandbox once, where that can be asked. The verdict is that of the last answer. Nothing in the receipt chooses whom to ask.
public struct VerifyReceiptFlow: Sendable {
  /// The outcome of a question to the store.
  public enum Outcome: Sendable {
    case response(VerifyReceiptResponse)
    /// No usable answer: no connection, a status other than 200, a body that is no answer.
    /// - Parameter retryAfter: the store's `Retry-After`.
    case failure(reason: String, retryAfter: Duration? = nil)
  }

  /// The next step of the caller.
  public enum Step: Sendable {
    /// Put the receipt to that environment's endpoint, after the wait.
    case ask(StoreEnvironment, after: Duration)
    case finished(ReceiptVerdict)
  }

  private let receipt: UnverifiedAppReceipt
  private let policy: VerifyReceiptPolicy
  private var environment: StoreEnvironment
  private var retries = 0

  /// Prepares to ask about `receipt`; nothing happens before ``start()``.
  public init(about receipt: UnverifiedAppReceipt, policy: VerifyReceiptPolicy) {
    self.receipt = receipt
    self.policy = policy
    environment = policy.askable.contains(.production) ? .production : .sandbox
  }

  /// The step before anything came back. Refuses without asking what the receipt itself says is for another
  /// application.
  public func start() -> Step {
    guard policy.bundleIdentifiers.contains(receipt.claims.bundleIdentifier) else {
      return .finished(.wrongApplication)
    }
    return .ask(environment, after: .zero)
  }

  /// The step after `outcome` came back from the step before.
  public mutating func handle(_ outcome: Outcome) -> Step {
    switch outcome {
    case .failure(let reason, let retryAfter):
      return .finished(.undetermined(retryAfter: retryAfter ?? policy.retryAfter, reason: reason))
    case .response(let response):
      return handle(response)
    }
  }

  private mutating func handle(_ response: VerifyReceiptResponse) -> Step {
    switch response.status.meaning(isRetryable: response.isRetryable) {
    case .decided:
      return .finished(verdict(response))
    case .notAuthentic:
      return .finished(.notAuthentic)
    case .nothingOwned:
      var receipt = receipt.claims
      receipt.purchases = []
      return .finished(.valid(VerifiedAppReceipt(receipt: receipt, purchases: [], ownsApplication: false)))
    case .belongsToSandbox:
      guard environment == .production, policy.askable.contains(.sandbox) else {
        return .finished(.wrongEnvironment)
      }
      environment = .sandbox
      retries = 0
      return .ask(.sandbox, after: .zero)
    case .belongsToProduction:
      return .finished(.wrongEnvironment)
    case .retry:
      guard retries < policy.retryDelays.count else { return .finished(undetermined(response)) }
      defer { retries += 1 }
      return .ask(environment, after: policy.retryDelays[retries])
    case .unusable:
      return .finished(undetermined(response))
    }
  }

  private func undetermined(_ response: VerifyReceiptResponse) -> ReceiptVerdict {
    .undetermined(
      retryAfter: policy.retryAfter, reason: "the store answered with status \(response.status.rawValue)")
  }

  /// The store says the receipt is genuine: what for?
  private func verdict(_ response: VerifyReceiptResponse) -> ReceiptVerdict {
    guard let answered = response.receipt else {
      return .undetermined(retryAfter: policy.retryAfter, reason: "the store's answer holds no receipt")
    }
    guard policy.bundleIdentifiers.contains(answered.bundleIdentifier),
      answered.bundleIdentifier == receipt.claims.bundleIdentifier
    else { return .wrongApplication }
    // All must say so: the store that was asked, its answer, and the receipt it vouches for.
    guard
      let named = response.environment.flatMap(StoreEnvironment.init(rawValue:))
        ?? receipt.claims.environment,
      named == receipt.claims.environment, named == environment, policy.environments.contains(named)
    else { return .wrongEnvironment }
    var requestDates: [String: Timestamp] = [:]
    if let date = answered.requestDate {
      for purchase in response.latestReceiptInfo ?? [] { requestDates[purchase.transactionIdentifier] = date }
    }
    let purchases = merged(answered, response)
    return .valid(
      VerifiedAppReceipt(
        receipt: receipt.claims, purchases: purchases, requestDates: requestDates,
        graceDates: PendingRenewal.graceDates(of: response.pendingRenewalInfo ?? [], for: purchases),
        chargingDates: PendingRenewal.chargingDates(
          of: response.pendingRenewalInfo ?? [], for: purchases, asked: answered.requestDate),
        expirationDate: answered.expirationDate))
  }

  /// The store's later knowledge replaces what the receipt says about the same transaction.
  private func merged(
    _ answered: VerifyReceiptResponse.Receipt, _ response: VerifyReceiptResponse
  ) -> [InAppPurchase] {
    var purchases: [String: InAppPurchase] = [:]
    for purchase in answered.purchases + (response.latestReceiptInfo ?? []) {
      purchases[purchase.transactionIdentifier] = purchase
    }
    return Array(purchases.values)
  }
}

/// Which receipts count, and how patiently a store is asked.
public struct VerifyReceiptPolicy: Sendable {
  /// The applications whose receipts count, by their bundle identifiers.
  public var bundleIdentifiers: Set<String>
  /// The environments whose purchases lead to content. Anyone can make a sandbox purchase for nothing.
  public var environments: Set<StoreEnvironment>
  /// The environments that can be asked; nil for those that count. A genuine receipt of one that does not count is of the
  /// wrong environment.
  public var addresses: Set<StoreEnvironment>?
  /// The waits before the second and each later try while the store answers that it could not decide.
  public var retryDelays: [Duration]
  /// The time that the customer is told to wait when nothing was decided and the store named no time itself.
  public var retryAfter: Duration

  /// Creates a policy. By default those are asked that count, and three more questions are asked, after waits of 1.7 seconds together.
  public init(
    bundleIdentifiers: Set<String>, environments: Set<StoreEnvironment>,
    addresses: Set<StoreEnvironment>? = nil,
    retryDelays: [Duration] = [.milliseconds(200), .milliseconds(500), .seconds(1)],
    retryAfter: Duration = .seconds(5)
  ) {
    self.bundleIdentifiers = bundleIdentifiers
    self.environments = environments
    self.addresses = addresses
    self.retryDelays = retryDelays
    self.retryAfter = retryAfter
  }

  var askable: Set<StoreEnvironment> { addresses ?? environments }
}

/// The verdict of asking a store about a receipt. Whether a product is owned, expired or revoked is for the
/// entitlement rules to say, over a valid receipt's transactions.
public enum ReceiptVerdict: Hashable, Sendable {
  case valid(VerifiedAppReceipt)
  case malformed
  case notAuthentic
  case wrongApplication
  case wrongEnvironment
  /// No answer, or none that decides: not a no. The only verdict that may fall back to an earlier one.
  case undetermined(retryAfter: Duration, reason: String)
}
