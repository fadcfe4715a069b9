package import Commerce
import CoreTypes
package import Crypto
import PullboxAPI
package import Receipts
package import ServiceAPI

/// A store that is asked about receipts, and whose signed transactions are proofs as well: where one is shown, its
/// signature decides, and the store is asked for the rest of what the customer bought where there is a key for that.
package struct SignedStoreClient: PaymentStoreClient {
  /// Asks the store about app receipts.
  package let receipts: VerifyReceiptStoreClient
  /// Verifies what the store signs.
  package let gate: SignedDataGate
  /// Nil without a key to the store's programming interface: then what is shown is all that is known.
  package let interface: StoreInterfaceClient?
  /// Whether ends of transactions are told through ``interface``.
  package let finishesThere: Bool

  package init(
    receipts: VerifyReceiptStoreClient, gate: SignedDataGate, interface: StoreInterfaceClient?,
    finishesThere: Bool
  ) {
    self.receipts = receipts
    self.gate = gate
    self.interface = interface
    self.finishesThere = finishesThere
  }

  package var name: StoreIdentifier { receipts.name }

  /// Without an interface, or for the download of an application, the signed transaction alone counts.
  package func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof {
    guard let text = proof.signedTransaction else { return try await receipts.verify(proof, digest: digest) }
    guard proof.receipt == nil, proof.purchaseToken == nil else {
      throw .final(.receiptMalformed, "a request brings one proof", onStoresWord: false)
    }
    let transaction: VerifiedTransaction?
    switch try await gate.purchase(text) {
    case .transaction(let shown): transaction = shown.vouched(by: name)
    case .application(let shown): transaction = shown.vouched(by: name)
    }
    guard let transaction else {
      throw .final(
        .receiptMalformed, "the signed transaction lacks what every transaction has", onStoresWord: false)
    }
    // Its interface knows no purchases by the download of an application.
    if transaction.origin != nil { return VerifiedProof(transactions: [transaction], binding: nil) }
    guard let interface else { return VerifiedProof(transactions: [transaction], binding: nil) }
    let known: [VerifiedTransaction]
    do {
      known = try await transactions(ofCustomerOf: transaction.id, by: interface)
    } catch {
      throw error.refusal
    }
    // The store's history has no finished consumables, and what it tells is the later word.
    let others = known.contains { $0.id == transaction.id } ? [] : [transaction]
    return VerifiedProof(transactions: known + others, binding: nil)
  }

  package var tellsOfTransactions: Bool { interface != nil }

  package func standing(of transaction: TransactionIdentifier) async throws(StoreRefusal)
    -> VerifiedTransaction?
  {
    do {
      return try await interface?.transaction(transaction).vouched(by: name)
    } catch {
      throw error.refusal
    }
  }

  /// Returns what the store knows of the customer who made the transaction, with the graces of subscriptions.
  private func transactions(
    ofCustomerOf id: TransactionIdentifier, by interface: StoreInterfaceClient
  ) async throws(StoreInterfaceClient.Failure) -> [VerifiedTransaction] {
    let read = try await interface.history(of: id)
    var history = read.transactions
    // The customer has more than is read: what is shown counts as it stands all the same.
    if !read.isComplete, !history.contains(where: { $0.transactionId == id.description }) {
      history.append(try await interface.transaction(id))
    }
    // Only subscriptions have a grace, and one that may end with it is the latest of its purchase.
    let renews = history.contains { $0.expiresDate != nil }
    let renewals = renews ? try await interface.statuses(of: id) : []
    let name = name
    return history.compactMap { transaction in
      let status = renewals.first { $0.transaction?.transactionId == transaction.transactionId }
      return transaction.vouched(by: name, renewal: status?.renewal)
    }
  }

  package func finish(_ transaction: TransactionIdentifier, in environment: StoreEnvironment) async
    -> StoreAnswer
  {
    guard finishesThere, let interface else { return await receipts.finish(transaction, in: environment) }
    do {
      try await interface.finish(transaction, in: environment)
      return StoreAnswer(answer: .accepted)
    } catch {
      return StoreAnswer(answer: error.answer, detail: error.detail)
    }
  }
}

extension SignedStoreClient {
  package func tell(
    _ consumption: ConsumptionStatement, of transaction: TransactionIdentifier,
    in environment: StoreEnvironment
  ) async -> StoreAnswer {
    guard let interface else {
      return StoreAnswer(answer: .refused, detail: "there is no key to the store's interface")
    }
    do {
      try await interface.send(
        StoreInterfaceClient.Consumption(consumption), for: transaction, in: environment)
      return StoreAnswer(answer: .accepted)
    } catch {
      return StoreAnswer(answer: error.answer, detail: error.detail)
    }
  }
}

/// The settings of a store's signed data and of its programming interface, as the store's entry in the configuration says
/// them.
package struct SignedStoreAccess: Sendable {
  /// The programming interface, with the key that it knows this server by.
  package struct Interface: Sendable {
    package var key: StoreAPIKey
    /// Base URLs of the interface.
    package var addresses: [StoreEnvironment: String]

    package init(key: StoreAPIKey, addresses: [StoreEnvironment: String]) {
      self.key = key
      self.addresses = addresses
    }
  }

  package var gate: SignedDataGate.Access
  /// Nil without a key: the store is not asked.
  package var interface: Interface?

  package init(gate: SignedDataGate.Access, interface: Interface? = nil) {
    self.gate = gate
    self.interface = interface
  }
}
