import Commerce
import CoreTypes
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import SystemCalls
import Testing

/// A server that takes the sandbox store for Apple's is shown what only looks like the store's word. The tests have the store's own
/// key, and so sign what no store would.
@Suite("Signed data at the gate, from outside", .serialized, .timeLimit(.minutes(5)))
struct SignedDataGateTests {
  private static let product = "com.example.issue1"
  private static let device = "device-of-the-reader"

  /// A store and a server that knows it by its root, and by `roots` besides. The responder is behind a proxy of its own.
  private func run(
    roots: [String: String] = [:], isResponderAway: Bool = false,
    _ body: @Sendable (Stack, PackageProxy) async throws -> Void
  ) async throws {
    try await Stack.with(Stack.Options(parts: [])) { stack in
      let responder = try PackageProxy()
      defer { responder.close() }
      if !isResponderAway { responder.setUpstream(port: stack.storeProxy.port) }
      try await stack.start(.store, arguments: ["--ocsp-url", "\(responder.url)/ocsp"])
      for (name, root) in roots {
        try DurableFile.write(Array(root.utf8).span, to: stack.directory.path(name))
      }
      let files = (["store/pki/signed-data-root.pem"] + roots.keys.sorted())
        .map { "'\(stack.directory.path($0))'" }.joined(separator: ", ")
      let entry = """
        {name: 'apple', kind: 'apple', bundles: ['\(Stack.bundle)'], roots: [\(files)],
         addresses: {sandbox: '\(stack.storeProxy.url)'}}
        """
      try await stack.start(.server, arguments: ["--payment-store", entry])
      let file = try await Material.file("issue.cbz", length: 50_000, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      try await body(stack, responder)
    }
  }

  private func ask(_ text: String, of stack: Stack, device: String = device) async throws -> Answer {
    try await stack.askForGrant(of: Self.product, signedTransaction: text, device: device)
  }

  private func content(_ grant: GrantResponse, of stack: Stack) async throws -> Int {
    try await stack.server.send(
      "HEAD", "\(grant.download.contentURL)?ticket=\(grant.download.ticket)"
    ).status
  }

  private struct Forgery: Sendable {
    var name: String
    var text: String
    var code: ProblemCode
  }

  /// All that is not the store's word, of a purchase that is genuine.
  private func forgeries(
    of genuine: String, by store: DataSigner, _ others: [String: DataSigner], at now: Timestamp
  ) throws -> [Forgery] {
    let payload = try DataSigner.members(of: genuine)
    func changed(_ name: String, _ value: Any?) -> [String: Any] {
      var payload = payload
      payload[name] = value
      return payload
    }
    func milliseconds(_ moment: Timestamp) -> Int64 { moment.millisecondsSinceEpoch }
    func other(_ name: String) throws -> DataSigner { try #require(others[name]) }
    let foreign = try other("foreign")
    let own = store.certificates
    let segments = genuine.split(separator: ".")
    let price = try store.sign(changed("price", 1)).split(separator: ".")
    let early = changed("signedDate", milliseconds(now - .seconds(7200)))
    let late = changed("signedDate", milliseconds(now))
    let authentic: [(String, String)] = [
      ("a changed payload", "\(segments[0]).\(price[1]).\(segments[2])"),
      ("a leaf without marker", try other("unmarked-leaf.pem").sign(payload)),
      ("an intermediate without marker", try other("unmarked-intermediate.pem").sign(payload)),
      ("another root of the same names", try foreign.sign(payload)),
      (
        "another root, the true one in its place",
        try foreign.sign(payload, certificates: foreign.certificates.dropLast() + [own[2]])
      ),
      ("good certificates and another key", try foreign.sign(payload, certificates: own)),
      ("signed before its leaf counted", try other("young.pem").sign(early)),
      ("signed after its leaf counted", try other("old.pem").sign(late)),
      (
        "signed ten minutes ahead",
        try store.sign(changed("signedDate", milliseconds(now + .seconds(600))))
      ),
    ]
    let malformed: [(String, String)] = [
      ("no certificates", try store.sign(payload, certificates: [])),
      ("no list of certificates", try store.sign(payload, certificates: nil)),
      ("one certificate", try store.sign(payload, certificates: [own[0]])),
      ("two certificates", try store.sign(payload, certificates: Array(own.prefix(2)))),
      ("four certificates", try store.sign(payload, certificates: own + [own[2]])),
      (
        "another root, the true one appended",
        try foreign.sign(payload, certificates: foreign.certificates + [own[2]])
      ),
      ("garbage for certificates", try store.sign(payload, certificates: [[1, 2], [3], []])),
      ("none", try store.sign(payload, algorithm: "none")),
      ("HS256", try store.sign(payload, algorithm: "HS256")),
      ("none, without a signature", "\(segments[0]).\(segments[1])."),
    ]
    let wrongEnvironment = try ["Production", "Xcode", "LocalTesting"].map {
      Forgery(
        name: $0, text: try store.sign(changed("environment", $0)), code: .receiptWrongEnvironment)
    }
    return authentic.map { Forgery(name: $0, text: $1, code: .receiptNotAuthentic) }
      + malformed.map { Forgery(name: $0, text: $1, code: .receiptMalformed) } + wrongEnvironment + [
        Forgery(
          name: "another application", text: try store.sign(changed("bundleId", "com.example.other")),
          code: .receiptWrongApplication)
      ]
  }

  @Test("what is not the store's word is refused by name, without a byte and without a grant")
  func forged() async throws {
    let now = SystemWallClock().now()
    let hour: Duration = .seconds(3600)
    let unmarkedLeaf = try DataSigner.stranger { $0.marksLeaf = false }
    let unmarkedIntermediate = try DataSigner.stranger { $0.marksIntermediate = false }
    let young = try DataSigner.stranger { $0.leafValidity = (now - hour)...(now + hour) }
    let old = try DataSigner.stranger { $0.leafValidity = (now - hour - hour)...(now - hour) }
    let foreign = try DataSigner.stranger()
    let known = [
      "unmarked-leaf.pem": unmarkedLeaf, "unmarked-intermediate.pem": unmarkedIntermediate,
      "young.pem": young, "old.pem": old,
    ]
    try await run(roots: known.mapValues(\.root)) { stack, _ in
      let bought = try await stack.buy(Self.product, device: Self.device)
      let genuine = try await stack.signedTransaction(bought.id.description)
      let signers = known.mapValues(\.signer).merging(["foreign": foreign.signer]) { $1 }
      for forgery in try forgeries(of: genuine, by: stack.storeSigner(), signers, at: SystemWallClock().now())
      {
        let answer = try await ask(forgery.text, of: stack)
        #expect(answer.problem?.code == forgery.code, "\(forgery.name): \(answer.text)")
      }
      #expect(try await stack.deliveries(of: Self.product).isEmpty)
      let granted = try await ask(genuine, of: stack)
      #expect(granted.status == 201, "\(granted.text)")
    }
  }

  @Test("with the responder away nothing is decided; a revoked leaf proves nothing, its successor does")
  func responder() async throws {
    try await run(isResponderAway: true) { stack, responder in
      let bought = try await stack.buy(Self.product, device: Self.device)
      let genuine = try await stack.signedTransaction(bought.id.description)
      let undetermined = try await ask(genuine, of: stack)
      #expect(undetermined.status == 503)
      #expect(undetermined.problem?.code == .verificationUndetermined, "\(undetermined.text)")
      try await stack.control("certificates/revoke")
      responder.setUpstream(port: stack.storeProxy.port)
      let revoked = try await ask(genuine, of: stack)
      #expect(revoked.status == 403)
      #expect(revoked.problem?.code == .receiptNotAuthentic, "\(revoked.text)")
      try await stack.control("certificates/renew")
      let renewed = try await ask(
        try await stack.signedTransaction(bought.id.description), of: stack)
      #expect(renewed.status == 201, "\(renewed.text)")
    }
  }

  @Test(
    "of a notification a hundred times, yesterday's after today's, another application's and forged ones, each new word counts once"
  )
  func notifications() async throws {
    let foreign = try DataSigner.stranger().signer
    try await run { stack, _ in
      let bought = try await stack.buy(Self.product, device: Self.device)
      let genuine = try await stack.signedTransaction(bought.id.description)
      let grant: GrantResponse = try await ask(genuine, of: stack).decoded()
      let store = try stack.storeSigner()
      let now = SystemWallClock().now()

      func notification(
        _ type: String, at date: Timestamp, by signer: DataSigner, bundle: String = Stack.bundle
      ) throws -> String {
        let milliseconds = date.millisecondsSinceEpoch
        var transaction = try DataSigner.members(of: genuine)
        transaction["signedDate"] = milliseconds
        transaction["bundleId"] = bundle
        if type == "REFUND" {
          transaction["revocationDate"] = milliseconds
          transaction["revocationReason"] = 0
        }
        let content: [String: Any] = [
          "bundleId": bundle, "environment": "Sandbox", "signedTransactionInfo": try signer.sign(transaction),
        ]
        return try signer.sign([
          "notificationType": type, "notificationUUID": UUID().uuidString, "version": "2.0",
          "signedDate": milliseconds, "data": content,
        ])
      }

      func post(_ payload: String) async throws -> Answer {
        try await stack.server.post("/v1/notifications/apple", StoreNotification(signedPayload: payload))
      }

      let refused: [(String, ProblemCode)] = [
        (
          try notification("REFUND", at: now, by: store, bundle: "com.example.other"),
          .receiptWrongApplication
        ), (try notification("REFUND", at: now, by: foreign), .receiptNotAuthentic),
      ]
      for (payload, code) in refused {
        let answer = try await post(payload)
        #expect(answer.problem?.code == code, "\(answer.text)")
      }
      #expect(try await content(grant, of: stack) == 200)

      let today = try notification("REFUND_REVERSED", at: now + .seconds(10), by: store)
      let yesterday = try notification("REFUND", at: now - .seconds(86_400), by: store)
      for payload in [today, yesterday] { #expect(try await post(payload).status == 200) }
      #expect(try await content(grant, of: stack) == 200)

      let refund = try notification("REFUND", at: now + .seconds(20), by: store)
      for _ in 1...100 { #expect(try await post(refund).status == 200) }
      #expect(try await content(grant, of: stack) == 403)
      let states = try #require(try await stack.deliveries(of: Self.product).first).history.map(\.state)
      #expect(states.filter { $0 == .revoked }.count == 1)

      let page = try await stack.server.get("/metrics")
      let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      let counts = ["counted": 3.0, "duplicate": 99, "wrong-application": 1, "not-authentic": 1]
      for (outcome, count) in counts {
        #expect(samples["pullbox_notifications_total{outcome=\"\(outcome)\"}"] == count, "\(outcome)")
      }
    }
  }
}
