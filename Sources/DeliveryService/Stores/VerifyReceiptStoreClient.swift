import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Receipts
import SystemCalls

/// Speaks to the sandbox store, or any store with its interface: receipts through `verifyReceipt`, the end of
/// a transaction with the credential that only this server holds.
struct VerifyReceiptStoreClient: PaymentStoreClient {
  let name: StoreIdentifier
  private let client: APIClient
  private let policy: VerifyReceiptPolicy
  private let timer: any MonotonicClock

  init(
    name: StoreIdentifier, url: String, credential: String, policy: VerifyReceiptPolicy, client: HTTPClient,
    timer: any MonotonicClock
  ) {
    self.name = name
    var client = APIClient(baseURL: url, credential: credential, client: client)
    client.timeout = .seconds(10)
    client.maximumResponseLength = .mebibytes(8)
    self.client = client
    self.policy = policy
    self.timer = timer
  }

  func verify(_ proof: Proof, for device: DeviceIdentifier) async throws(Problem) -> [VerifiedTransaction] {
    guard let text = proof.receipt, proof.signedTransaction == nil, proof.purchaseToken == nil else {
      throw Problem(
        .receiptMalformed, "\(name) takes an app receipt, in the member receipt, and nothing else")
    }
    let receipt = try await Self.parse(text)
    switch await ask(about: receipt) {
    case .valid(let verified):
      guard verified.receipt.isBound(to: device) else {
        throw Problem(.receiptNotAuthentic, "the receipt was issued to another device")
      }
      return verified.transactions(store: name)
    case .malformed: throw Problem(.receiptMalformed, "the store cannot read the receipt")
    case .notAuthentic: throw Problem(.receiptNotAuthentic, "the store does not vouch for the receipt")
    case .wrongApplication: throw Problem(.receiptWrongApplication)
    case .wrongEnvironment: throw Problem(.receiptWrongEnvironment)
    case .undetermined(let retryAfter, let reason):
      throw Problem(
        .verificationUndetermined, reason, retryAfterSeconds: RetryAfter.seconds(clamping: retryAfter))
    }
  }

  func finish(_ transaction: TransactionIdentifier) async -> StoreAnswer {
    do {
      _ = try await client.exchange("POST", "/store/v1/transactions/\(transaction)/finish")
      return StoreAnswer(answer: .accepted)
    } catch {
      return StoreAnswer(answer: Self.answer(error), detail: "\(error)")
    }
  }

  private static func answer(_ error: APICallError) -> OutboxMachine.Answer {
    if case .unreachable(let error) = error, error.code == .cancelled || error.code == .shutDown {
      return .abandoned
    }
    return error.isTemporary ? .unavailable(retryAfter: error.retryAfter) : .refused
  }

  /// libcrypto parses up to 3 MB of untrusted bytes: not on the cooperative pool.
  private static func parse(_ text: String) async throws(Problem) -> UnverifiedAppReceipt {
    do {
      return try await BlockingPool.shared.run { try UnverifiedAppReceipt(base64: text) }
    } catch {
      throw Problem(.receiptMalformed, "\(error)")
    }
  }

  private func ask(about receipt: UnverifiedAppReceipt) async -> ReceiptVerdict {
    var conversation = VerifyReceiptFlow(about: receipt, policy: policy)
    var step = conversation.start()
    while true {
      switch step {
      case .finished(let verdict):
        return verdict
      case .ask(_, let delay):
        do {
          if delay > .zero { try await timer.sleep(for: delay) }
          let answer = try await client.call(
            "POST", "/verifyReceipt", body: VerifyReceiptRequest(receiptData: receipt.base64),
            as: VerifyReceiptResponse.self)
          step = conversation.handle(.response(answer.value))
        } catch let error as APICallError {
          step = conversation.handle(.failure(reason: "\(error)", retryAfter: error.retryAfter))
        } catch {
          step = conversation.handle(.failure(reason: "the request was abandoned"))
        }
      }
    }
  }
}
