import Commerce
import CoreTypes
import Database
import PullboxAPI
import PullboxAPIServer
import Receipts

extension PaymentStore {
  /// A fresh receipt of everything the account has bought.
  func receipt(
    for account: Account, device: DeviceIdentifier, bundleIdentifier: String?
  ) async throws -> ReceiptResponse {
    let purchases = try await transactions(of: account.id).compactMap(\.receiptEntry)
    return ReceiptResponse(
      receipt: try issuer.issue(
        purchases, bundleIdentifier: bundleIdentifier ?? issuer.bundleIdentifier, device: device))
  }

  /// Verifies that a receipt is one of this store's own, and returns what it holds.
  func verify(_ request: VerifyReceiptRequest) async throws -> VerifyReceiptResponse {
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
    let genuine: AppReceipt
    do {
      genuine = try issuer.verify(receipt)
    } catch is ReceiptError {
      return VerifyReceiptResponse(status: .notAuthentic)
    }
    let needsPassword = request.password != nil || genuine.purchases.contains { $0.expiresDate != nil }
    if let sharedSecret, needsPassword, !sharedSecret.matches(request.password) {
      return VerifyReceiptResponse(status: .sharedSecretMismatch)
    }
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = environment.rawValue
    response.receipt = VerifyReceiptResponse.Receipt(genuine, requestDate: clock.now())
    try await addLatest(to: &response, from: genuine, excludingOld: request.excludesOldTransactions == true)
    return response
  }

  /// Adds what the store knows beyond the receipt, when there are auto-renewable subscriptions in it.
  private func addLatest(
    to response: inout VerifyReceiptResponse, from receipt: AppReceipt, excludingOld: Bool
  ) async throws {
    let subscription = receipt.purchases.first { $0.expiresDate != nil }
    guard let id = subscription.flatMap({ Int64($0.transactionIdentifier) }),
      let account = try await database.read({ try TransactionTable.find(in: $0, id: id)?.account })
    else { return }
    try await catchUp(account: account)
    let transactions = try await transactions(of: account)
    var latest = transactions.compactMap(\.latestReceiptEntry)
    latest.sort { ($0.purchaseDate, $0.transactionIdentifier) > ($1.purchaseDate, $1.transactionIdentifier) }
    if excludingOld {
      var seen: Set<String> = []
      latest = latest.filter {
        $0.expiresDate == nil || seen.insert($0.originalTransactionIdentifier).inserted
      }
    }
    response.latestReceiptInfo = latest
    response.latestReceipt = try issuer.reissue(receipt, with: transactions.compactMap(\.receiptEntry))
  }

  private func transactions(of account: Int64) async throws -> [StoredTransaction] {
    try await database.read { [limits] connection in
      try TransactionTable.list(
        in: connection, account: account, inQueue: false, after: 0, limit: limits.transactionsPerAccount)
    }
  }
}
