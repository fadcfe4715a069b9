import Commerce
import CoreTypes
import Crypto
import Database
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

@Suite("What a leaked ticket, list or name opens")
struct LeakedTicketTests {
  private static let package = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
  private let package = Self.package

  /// The holder of the key renews and asks as that device.
  private func signed(
    _ method: String, _ path: String, key: SigningKey, at time: Timestamp, _ server: ServerHarness
  ) async throws -> ClientResponse {
    let proof = DeviceProof(method: method, path: path, iat: time.secondsSinceEpoch)
    let signature = try JSONWebSignature(signing: try APIJSON.encode(proof), with: key)
    return try await server.client.send(
      ClientRequest(
        method: method, url: server.api.url(path),
        headers: [("Authorization", "PullboxDevice \(signature.text)")]))
  }

  private func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  private func send(
    _ method: String, _ path: String, _ server: ServerHarness, credential: String? = nil
  ) async throws -> ClientResponse {
    try await server.client.send(
      ClientRequest(
        method: method, url: server.api.url(path),
        headers: credential.map { [("Authorization", "Bearer \($0)")] } ?? []))
  }

  @Test("a ticket opens nothing after its expiry, and nothing in it renews it or shows the grant")
  func ticket() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let keyed = Device(
        id: try #require(DeviceIdentifier("with-a-key")), publicKey: SigningKey().verificationKey)
      for device in [server.device, keyed] {
        let grant = try await server.grantForPurchase(device: device)
        #expect(try await server.fetch(grant).status == 200)
        let ticket = try #require(Base64.decode(grant.download.ticket, .url))
        server.clock.advance(by: .seconds(16 * 60))
        #expect(try code(try await server.fetch(grant)) == .ticketExpired)
        for start in 0...ticket.count - 16 {
          let name = Hexadecimal.encode(Array(ticket[start..<start + 16]))
          #expect(name != grant.grant.description)
          for (method, path) in [("POST", "/v1/grants/\(name)/tickets"), ("GET", "/v1/grants/\(name)")] {
            let answer = try await send(method, path, server, credential: grant.download.ticket)
            #expect(try code(answer) == .grantUnknown)
          }
        }
      }
    }
  }

  @Test("the name of a grant opens nothing without a proof, and the refusal names the scheme")
  func name() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let keyed = Device(
        id: try #require(DeviceIdentifier("with-a-key")), publicKey: SigningKey().verificationKey)
      for (device, scheme, missing) in [
        (server.device, "Bearer", ProblemCode.renewalSecretMissing),
        (keyed, "PullboxDevice", ProblemCode.proofMissing),
      ] {
        let grant = try await server.grantForPurchase(device: device)
        let path = "/v1/grants/\(grant.grant)"
        for (method, path) in [("POST", path + "/tickets"), ("GET", path)] {
          let answer = try await send(method, path, server)
          #expect(answer.status == 401)
          #expect(answer.headers["WWW-Authenticate"] == scheme)
          #expect(try code(answer) == missing)
          let tried = try await send(method, path, server, credential: "a guess")
          #expect([.proofRefused, .proofMissing].contains(try code(tried)))
        }
      }
      // The name alone finishes no transaction.
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      let stolen = try await server.problem {
        _ = try await server.api.call(
          "POST", "/v1/grants/\(grant.grant)/completion", body: server.report(grant),
          as: CompletionResponse.self)
      }
      #expect(stolen.code == .renewalSecretMissing)
      #expect(try await server.status(grant).state == .granted)
    }
  }

  @Test("a key with the scope read lists grants by names that open and renew nothing")
  func readKey() async throws {
    let key = "{name: 'rita', key: 'the-key-of-rita-who-reads', scopes: ['read']}"
    try await ServerHarness.run(options: ["--named-operator-key", key]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let reader = "the-key-of-rita-who-reads"
      let listed = try await send("GET", "/v1/operator/deliveries", server, credential: reader)
      #expect(listed.status == 200)
      let text = String(decoding: listed.body, as: UTF8.self)
      #expect(!text.contains(grant.grant.description))
      #expect(!text.contains(Hexadecimal.encode(try server.handle(of: grant).bytes)))
      let name = try server.shortName(of: grant)
      #expect(text.contains("\"grant\":\"\(name)\""))
      for path in ["/v1/grants/\(name)/tickets", "/v1/grants/\(name)\(name)/tickets"] {
        for credential in [nil, reader, name] {
          #expect(try code(try await send("POST", path, server, credential: credential)) == .grantUnknown)
        }
      }
      // Nor does the operator's key stand for the device's.
      let tried = try await send(
        "POST", "/v1/grants/\(grant.grant)/tickets", server, credential: ServerHarness.operatorKey)
      #expect(try code(tried) == .proofRefused)
      // The short name is all that operators' routes take.
      let full = try await send(
        "GET", "/v1/operator/grants/\(grant.grant)", server, credential: reader)
      #expect(try code(full) == .grantUnknown)
      let shown = try await send("GET", "/v1/operator/grants/\(name)", server, credential: reader)
      #expect(try APIJSON.decode(OperatorGrant.self, from: shown.body).device == server.device.id)
    }
  }

  @Test(
    "a device that gave a key renews and asks by its signature, and learns the time when its clock is off")
  func device() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let key = SigningKey()
      let grant = try await server.grantForPurchase(
        device: Device(id: server.device.id, publicKey: key.verificationKey))
      #expect(grant.renewalSecret == nil)
      let path = "/v1/grants/\(grant.grant)"
      let now = server.clock.now()
      let renewed = try await signed("POST", path + "/tickets", key: key, at: now, server)
      #expect(renewed.status == 201)
      let ticket = try APIJSON.decode(TicketResponse.self, from: renewed.body).ticket
      #expect(try await server.fetch(grant, ticket: ticket).body == package)
      let status = try await signed("GET", path, key: key, at: now, server)
      #expect(try APIJSON.decode(GrantStatus.self, from: status.body).state == .granted)

      let late = try await signed("GET", path, key: key, at: now - .seconds(86_400), server)
      #expect(late.status == 403)
      let problem = try APIJSON.decode(Problem.self, from: late.body)
      #expect(problem.code == .clockSkew)
      let corrected = try await signed("GET", path, key: key, at: try #require(problem.serverTime), server)
      #expect(corrected.status == 200)
      #expect(try code(try await signed("GET", path, key: SigningKey(), at: now, server)) == .proofRefused)
    }
  }

  @Test(
    "a device whose answer was lost goes on with the secret before; the one before that renews nothing any more"
  )
  func newSecret() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let first = try await server.grant(receipt: receipt).value
      _ = try await server.renew(first)
      let second = try await server.grant(receipt: receipt).value
      #expect(second.grant == first.grant)
      #expect(second.renewalSecret?.utf8.count == 43)
      _ = try await server.renew(first)
      _ = try await server.renew(second)
      _ = try await server.renew(first)
      let third = try await server.grant(receipt: receipt).value
      let replaced = try await server.problem { _ = try await server.renew(first) }
      #expect(replaced.code == .proofRefused)
      _ = try await server.renew(second)
      _ = try await server.renew(third)
      // Once the device has a key, no secret is as good.
      let key = SigningKey()
      let keyed = try await server.grant(
        receipt: receipt, device: Device(id: server.device.id, publicKey: key.verificationKey)
      ).value
      #expect(keyed.grant == first.grant && keyed.renewalSecret == nil)
      for grant in [second, third] {
        #expect(try await server.problem { _ = try await server.renew(grant) }.code == .proofMissing)
      }
    }
  }

  @Test(
    "a grant from before there were handles: its tickets open until they expire, and its receipt brings a secret"
  )
  func olderGrant() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.grant(receipt: receipt).value
      // The migration leaves such a grant so.
      try await server.server.components.infrastructure.database.write(locking: [.everything]) {
        try $0.execute(
          "UPDATE grants SET handle = ?, renewal_digest = NULL WHERE id = ?",
          [.blob(grant.grant.bytes), .identifier(grant.grant)])
      }
      // A ticket of layout 1: the grant's name where its handle is now.
      let key = server.server.settings.value.keys.newest
      var bytes = Array(try #require(Base64.decode(grant.download.ticket, .url)).prefix(38))
      bytes[0] = 1
      bytes.replaceSubrange(14..<30, with: grant.grant.bytes)
      let code = key.secret.authenticate(bytes.span, grant.download.digest.array.span).array
      let ticket = Base64.encode(bytes + code.prefix(16), .url)
      #expect(try await server.fetch(grant, ticket: ticket).body == package)
      let manifest = try await server.client.send(
        ClientRequest(
          method: "GET", url: server.api.url(grant.download.manifestURL, query: [("ticket", ticket)])))
      #expect(manifest.status == 200)

      // The name that a ticket of that time tells is no key any more.
      #expect(try await server.problem { _ = try await server.renew(grant) }.code == .receiptNeeded)
      let again = try await server.grant(receipt: receipt).value
      #expect(again.grant == grant.grant)
      _ = try await server.renew(again)
      // The bytes of both tickets count for the grant.
      #expect(try await server.status(again).bytesDelivered == grant.download.length)
      server.clock.advance(by: .seconds(16 * 60))
      #expect(try await server.fetch(grant, ticket: ticket).status == 403)
    }
  }

  @Test("a device that lost its key brings a new one, also when it has completed, and completes again")
  func newKey() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      func deliver(_ key: SigningKey) async throws -> GrantResponse {
        let device = Device(id: server.device.id, publicKey: key.verificationKey)
        let grant = try await server.grant(receipt: receipt, device: device).value
        #expect(try await server.fetch(grant).status == 200)
        let report = try JSONWebSignature(signing: APIJSON.encode(server.report(grant)), with: key)
        let answer = try await server.api.call(
          "POST", "/v1/grants/\(grant.grant)/completion", bytes: Array(report.text.utf8),
          mediaType: "application/jose", as: CompletionResponse.self)
        #expect(answer.value.state == .finished)
        return grant
      }
      let first = try await deliver(SigningKey())
      let second = try await deliver(SigningKey())
      #expect(first.grant == second.grant)
      let status = try await server.operatorAPI.get(
        "/v1/operator/grants/\(server.shortName(of: first))", as: OperatorGrant.self)
      #expect(status.history.filter { $0.detail == "the device has a new key" }.map(\.state) == [.finished])
    }
  }

  @Test("two grants with one short name are told to the operator, and neither is revoked")
  func ambiguousName() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grants = [
        try await server.grantForPurchase(),
        try await server.grantForPurchase(device: Device(id: try #require(DeviceIdentifier("another")))),
      ]
      try await server.server.components.infrastructure.database.write(locking: [.everything]) { connection in
        for (index, grant) in grants.enumerated() {
          try connection.execute(
            "UPDATE grants SET handle = ? WHERE id = ?",
            [.handle(DeliveryHandle(high: 7, low: UInt64(index))), .identifier(grant.grant)])
        }
      }
      let problem = try await server.problem {
        _ = try await server.operatorAPI.exchange("POST", "/v1/operator/grants/0000000000000007/revoke")
      }
      #expect(problem.code == .grantAmbiguous)
      for grant in grants { #expect(try await server.status(grant).state == .granted) }
    }
  }
}
