import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import Synchronization

/// A payment store of the test's own: it signs receipts, judges them, and can be switched off.
final class FakePaymentStore: Sendable {
  struct State {
    var isDown = false
    /// The seconds to wait that it tells while it is down.
    var retryAfterSeconds = 7
    var finished: [String] = []
    /// It refuses ends of transactions.
    var refuses = false
    /// The answer to each question, in place of a judgment.
    var answer: VerifyReceiptResponse?
    /// Receipts that it fails at.
    var fails: Set<String> = []
    /// The problem that it refuses each question with.
    var refusal: Problem?
    var verifications = 0
    /// The environment whose receipts it vouches for.
    var environment = StoreEnvironment.sandbox
    /// The password that came with each question.
    var passwords: [String?] = []
    /// Questions, those that it refused because it was down among them.
    var questions = 0
    var finishWaiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    /// Whether ends of transactions are taken, and the answers held back.
    var holdsAnswers = false
    var heldAnswers: [CheckedContinuation<Void, Never>] = []
    /// The work that happens while the next receipt is looked at: between the server's question and the answer.
    var duringVerification: (@Sendable () async throws -> Void)?
  }

  static let credential = "the server's credential"

  /// Three RSA keys take a while; one set serves all tests.
  private static let authority = Result {
    try ReceiptAuthority.generate(ReceiptAuthority.Options(now: ServerHarness.start))
  }

  let state = Mutex(State())
  let clock: ManualWallClock
  private let authority: ReceiptAuthority
  /// Its own certificates and key, for receipts that it would not make.
  var receiptAuthority: ReceiptAuthority { authority }
  var root: Certificate { authority.root }
  private let server: Mutex<HTTPServer?> = Mutex(nil)

  init(clock: ManualWallClock) throws {
    self.clock = clock
    authority = try Self.authority.get()
    var routes = APIRoutes()
    routes.on(.post, "/verifyReceipt") { [unowned self] request, _ in
      state.withLock { $0.questions += 1 }
      try refuseWhenDown()
      let event = state.withLock { state in
        state.verifications += 1
        return state.duringVerification.take()
      }
      try await event?()
      let (answer, refusal) = state.withLock { ($0.answer, $0.refusal) }
      if let refusal { throw refusal }
      if let answer { return try .json(answer) }
      let question = try await request.decode(VerifyReceiptRequest.self, upTo: .mebibytes(4))
      state.withLock { $0.passwords.append(question.password) }
      if state.withLock({ $0.fails.contains(question.receiptData) }) { throw Problem(.unavailable) }
      return try .json(verify(question))
    }
    routes.on(.post, "/store/v1/transactions/{id}/finish") { [unowned self] request, parameters in
      try refuseWhenDown()
      guard request.bearerToken == Self.credential, !state.withLock({ $0.refuses }) else {
        throw Problem(.forbidden, "no \u{1B}[31mbusiness\u{202E} here")
      }
      noteFinished(parameters["id"])
      await holdAnswer()
      return try .json(EmptyBody())
    }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: routes.router { _, _ in })
    try server.start()
    self.server.withLock { $0 = server }
  }

  var url: String {
    "http://" + (server.withLock { $0?.boundAddresses.first?.description } ?? "")
  }

  /// Returns once the store was told that many times, at least, that a transaction is finished.
  func waitForFinished(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.finished.count >= count { return true }
        state.finishWaiters.append((count, continuation))
        return false
      }
      if isReached { continuation.resume() }
    }
  }

  /// Answers what was held back, and from now on at once.
  func releaseAnswers() {
    let held = state.withLock { state in
      state.holdsAnswers = false
      let held = state.heldAnswers
      state.heldAnswers = []
      return held
    }
    for continuation in held { continuation.resume() }
  }

  private func noteFinished(_ transaction: String) {
    let reached = state.withLock { state in
      state.finished.append(transaction)
      let count = state.finished.count
      let reached = state.finishWaiters.filter { $0.count <= count }
      state.finishWaiters.removeAll { $0.count <= count }
      return reached
    }
    for waiter in reached { waiter.continuation.resume() }
  }

  private func holdAnswer() async {
    await withCheckedContinuation { continuation in
      let isHeld = state.withLock { state in
        if state.holdsAnswers { state.heldAnswers.append(continuation) }
        return state.holdsAnswers
      }
      if !isHeld { continuation.resume() }
    }
  }

  func stop() async {
    releaseAnswers()
    await server.withLock { $0.take() }?.drain()
  }

  /// A genuine receipt in base 64.
  func receipt(
    of purchases: [InAppPurchase], device: DeviceIdentifier, bundle: String = "com.example.pullbox",
    environment: String = "ProductionSandbox", expiring end: Timestamp? = nil
  ) throws -> String {
    var receipt = AppReceipt(
      environmentName: environment, bundleIdentifier: bundle, applicationVersion: "1",
      creationDate: Timestamp(millisecondsSinceEpoch: clock.now().secondsSinceEpoch * 1000),
      purchases: purchases)
    receipt.expirationDate = end
    receipt.bind(to: device)
    return try authority.signer.signBase64(receipt)
  }

  private func refuseWhenDown() throws {
    let seconds = state.withLock { $0.isDown ? $0.retryAfterSeconds : nil }
    if let seconds { throw Problem(.unavailable, retryAfterSeconds: seconds) }
  }

  /// The store's answer about a receipt while it is up.
  func verify(_ request: VerifyReceiptRequest) -> VerifyReceiptResponse {
    guard let receipt = try? UnverifiedAppReceipt(base64: request.receiptData) else {
      return VerifyReceiptResponse(status: .malformed)
    }
    guard let genuine = try? receipt.verified(trusting: [authority.root], now: clock.now()) else {
      return VerifyReceiptResponse(status: .notAuthentic)
    }
    let environment = state.withLock { $0.environment }
    guard genuine.receipt.environment == environment else {
      return VerifyReceiptResponse(status: environment == .production ? .sandboxReceipt : .productionReceipt)
    }
    var response = VerifyReceiptResponse(status: .valid)
    response.environment = environment.rawValue
    response.receipt = VerifyReceiptResponse.Receipt(genuine.receipt, requestDate: clock.now())
    return response
  }

  private struct EmptyBody: Encodable {}
}
