import Commerce
import CoreTypes
import Database
import PullboxAPI
import PullboxAPIServer
import Receipts
import SandboxRecords
import ServiceAPI

extension PaymentStore {
  /// A fresh receipt of everything the account has bought. Where there are more purchases than the store's
  /// limit, it has the newest. Renewals that have fallen due are the caller's to make before.
  ///
  /// - Parameter bundleIdentifier: nil for the store's own application; another one has an empty receipt.
  func receipt(
    for account: Account, device: DeviceIdentifier, bundleIdentifier: String?
  ) async throws -> ReceiptResponse {
    let contents = ReceiptContents(try await sold(to: account.id), at: clock.now())
    let receipt = try issuer.issue(
      contents, of: account.application, bundleIdentifier: bundleIdentifier ?? issuer.bundleIdentifier,
      device: device, at: faults.statedTime(clock.now()))
    return ReceiptResponse(receipt: faults.current.wrongSignature == true ? receipt.damaged : receipt)
  }

  /// Verifies that a receipt is one of this store's own, and returns what it holds. Never throws for a
  /// receipt that is refused: the status says why. A fault may put another status in its place, and then the
  /// answer has nothing else.
  func verify(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptAnswer {
    let answer = try await judge(request)
    let status = stated(answer.status)
    return status == answer.status ? answer : .unified(VerifyReceiptResponse(status: status))
  }

  /// The receipt's form decides which of the two checks it gets: a property list is a receipt of one
  /// transaction.
  private func judge(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptAnswer {
    do {
      if let receipt = try UnverifiedTransactionReceipt(base64: request.receiptData) {
        return try await verify(receipt, password: request.password)
      }
    } catch is ReceiptError {
      return .unified(VerifyReceiptResponse(status: .malformed))
    }
    return .unified(try await verifyUnified(request))
  }

  /// Where a shared secret is set, a wrong one is always refused, and a missing one where it is needed.
  private func refusal(of password: String?, needed: Bool) -> VerifyReceiptResponse? {
    guard let sharedSecret, needed || password != nil, !sharedSecret.matches(password) else { return nil }
    return VerifyReceiptResponse(status: .sharedSecretMismatch)
  }

  /// The checks in their order: readable, of this environment, signed by this store, the password.
  private func verifyUnified(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptResponse {
    let receipt: UnverifiedAppReceipt
    do {
      receipt = try UnverifiedAppReceipt(base64: request.receiptData)
    } catch is ReceiptError {
      return VerifyReceiptResponse(status: .malformed)
    }
    // The other environment's receipts are signed under another root: what they say of themselves is enough to send them there.
    if let environment = receipt.claims.environment, environment != self.environment {
      switch environment {
      case .sandbox: return VerifyReceiptResponse(status: .sandboxReceipt)
      case .production: return VerifyReceiptResponse(status: .productionReceipt)
      case .xcode: return VerifyReceiptResponse(status: .notAuthentic)
      }
    }
    var genuine: AppReceipt
    do {
      genuine = try issuer.verify(receipt, at: faults.statedTime(clock.now()))
    } catch is ReceiptError {
      return VerifyReceiptResponse(status: .notAuthentic)
    }
    let needsPassword = genuine.purchases.contains { $0.expiresDate != nil }
    if let refusal = refusal(of: request.password, needed: needsPassword) { return refusal }
    try await nameAccounts(in: &genuine)
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = environment.rawValue
    response.receipt = VerifyReceiptResponse.Receipt(genuine, requestDate: faults.statedTime(clock.now()))
    try await addLatest(to: &response, from: genuine, excludingOld: request.excludesOldTransactions == true)
    return response
  }

  /// A receipt itself has no place for what the application called its users: the store's answer says it of each purchase, as it was
  /// given.
  private func nameAccounts(in receipt: inout AppReceipt) async throws {
    guard let id = receipt.purchases.first.flatMap({ Int64($0.transactionIdentifier) }),
      let account = try await database.read({ try TransactionTable.find(in: $0, id: id)?.account })
    else { return }
    let names = Dictionary(
      try await sold(to: account).map { (String($0.id), $0.applicationUsername) },
      uniquingKeysWith: { first, _ in first })
    for index in receipt.purchases.indices {
      receipt.purchases[index].appAccountToken =
        names[receipt.purchases[index].transactionIdentifier] ?? nil
    }
  }

  /// Adds what the store knows beyond the receipt, when there are auto-renewable subscriptions in it. The
  /// account is that of the first subscription in the receipt. The latest purchase is first, and with
  /// `excludingOld` a subscription has its latest only.
  private func addLatest(
    to response: inout VerifyReceiptResponse, from receipt: AppReceipt, excludingOld: Bool
  ) async throws {
    let subscription = receipt.purchases.first { $0.expiresDate != nil }
    guard let id = subscription.flatMap({ Int64($0.transactionIdentifier) }),
      let account = try await database.read({ try TransactionTable.find(in: $0, id: id)?.account })
    else { return }
    try await catchUp(account: account)
    let now = clock.now()
    let transactions = try await sold(to: account)
    let subscriptions = try await database.read { try SubscriptionTable.list(in: $0, account: account) }
    let groups = Dictionary(
      subscriptions.map { (String($0.originalID), $0.group.description) },
      uniquingKeysWith: { first, _ in first })
    var latest = transactions.compactMap { $0.latestReceiptEntry(at: now) }
    for index in latest.indices {
      latest[index].subscriptionGroupIdentifier = groups[latest[index].originalTransactionIdentifier]
    }
    latest.sort { ($0.purchaseDate, $0.transactionIdentifier) > ($1.purchaseDate, $1.transactionIdentifier) }
    if excludingOld {
      var seen: Set<String> = []
      latest = latest.filter {
        $0.expiresDate == nil || seen.insert($0.originalTransactionIdentifier).inserted
      }
    }
    response.latestReceiptInfo = latest
    response.pendingRenewalInfo = subscriptions.compactMap(\.pendingRenewal)
    response.latestReceipt = try issuer.reissue(
      receipt, with: ReceiptContents(transactions, at: now), at: faults.statedTime(now))
  }

  /// Returns the account's sold transactions that a receipt tells of. Where there are more than the store's
  /// limit, these are the newest.
  private func sold(to account: Int64) async throws -> [StoredTransaction] {
    try await database.read { [limits] connection in
      try TransactionTable.sold(in: connection, account: account, limit: limits.purchasesPerReceipt)
    }
  }
}

extension PaymentStore {
  /// The receipt of one sold transaction, in the style of before unified receipts. Throws `transaction-unknown`, also for
  /// those of others, and `transaction-unpaid`.
  func receipt(of id: String, for account: Account) async throws -> ReceiptResponse {
    let transaction = try await database.read { try Self.transaction(id, in: $0) }
    guard transaction.account == account.id else { throw Problem(.transactionUnknown) }
    guard let entry = transaction.receiptEntry(at: clock.now()) else {
      throw Problem(.transactionUnpaid, "transaction \(id) is in no receipt")
    }
    return ReceiptResponse(receipt: try issuer.issue(entry))
  }

  /// The answer about a receipt of one transaction; 21006 for a subscription that has ended. The checks are
  /// those of unified receipts, in the same order. Only a subscription has more than the receipt.
  private func verify(
    _ receipt: UnverifiedTransactionReceipt, password: String?
  ) async throws -> VerifyReceiptAnswer {
    guard receipt.claims.environment == environment else {
      return .unified(
        VerifyReceiptResponse(status: environment == .sandbox ? .productionReceipt : .sandboxReceipt))
    }
    let genuine: TransactionReceipt
    do {
      genuine = try issuer.verify(receipt)
    } catch is ReceiptError {
      return .unified(VerifyReceiptResponse(status: .notAuthentic))
    }
    if let refusal = refusal(of: password, needed: genuine.purchase.expiresDate != nil) {
      return .unified(refusal)
    }
    var response = TransactionReceiptResponse(status: .valid, receipt: genuine)
    guard let original = Int64(genuine.purchase.originalTransactionIdentifier),
      let found = try await database.read({ try SubscriptionTable.find(in: $0, originalID: original) })
    else { return .ofTransaction(response) }
    try await catchUp(account: found.account)
    let (subscription, last) = try await database.read { connection in
      (
        try SubscriptionTable.find(in: connection, originalID: original),
        try TransactionTable.last(in: connection, account: found.account, originalID: original)
      )
    }
    response.renewal = subscription?.pendingRenewal
    response.latest = last?.latestReceiptEntry(at: clock.now())
    if subscription?.life.phase == .active {
      response.latestReceipt = try response.latest.map(issuer.issue)
    } else {
      response.status = .subscriptionExpired
    }
    return .ofTransaction(response)
  }
}

/// The answer of `verifyReceipt`, by the style of the receipt.
enum VerifyReceiptAnswer: Encodable {
  case unified(VerifyReceiptResponse)
  case ofTransaction(TransactionReceiptResponse)

  /// The status in the body.
  var status: VerifyReceiptStatus {
    switch self {
    case .unified(let response): response.status
    case .ofTransaction(let response): response.status
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .unified(let response): try response.encode(to: encoder)
    case .ofTransaction(let response): try response.encode(to: encoder)
    }
  }
}

extension StoredSubscription {
  /// Its member of `pending_renewal_info`. Nil for one that its customer ended while its payment was tried again.
  fileprivate var pendingRenewal: PendingRenewal? {
    guard life.phase != .retrying || life.autoRenews else { return nil }
    var renewal = PendingRenewal(originalTransactionIdentifier: String(originalID))
    renewal.productIdentifier = life.plan.product.description
    renewal.autoRenewProductIdentifier = life.renewalProduct.description
    renewal.autoRenews = life.autoRenews
    renewal.expirationIntent = life.intent.map { String($0.rawValue) }
    if let offer = life.renewalOffer?.offer, offer.kind == .code {
      renewal.offerCodeReferenceName = offer.name
    }
    switch life.phase {
    case .active, .paused: break
    case .retrying: renewal.isInBillingRetryPeriod = true
    case .expired: renewal.isInBillingRetryPeriod = life.intent == .billing ? false : nil
    }
    renewal.gracePeriodExpiresDate = life.graceEnd
    if let increase = life.increase {
      renewal.consentsToPrice = increase.needsConsent ? increase.isAccepted : nil
      renewal.acceptsPriceIncrease = !increase.needsConsent || increase.isAccepted
    }
    return renewal
  }
}
