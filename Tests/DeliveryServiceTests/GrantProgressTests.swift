import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/delivery.md, "Reading on another device".
@Suite("How far a product was read, on all devices of a customer")
struct GrantProgressTests {
  private static let package = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }

  /// A device with a key, and the grant that it has.
  private struct Reader {
    let key = SigningKey()
    let device: Device
    var path = ""

    init(_ name: String) throws {
      device = Device(id: try #require(DeviceIdentifier(name)), publicKey: key.verificationKey)
    }

    func send(
      _ method: String, _ server: ServerHarness, _ body: [UInt8] = [], by other: SigningKey? = nil
    ) async throws -> ClientResponse {
      let proof = DeviceProof(method: method, path: path, iat: server.clock.now().secondsSinceEpoch)
      let signature = try JSONWebSignature(signing: try APIJSON.encode(proof), with: other ?? key)
      var request = ClientRequest(
        method: method, url: server.api.url(path),
        headers: [
          ("Authorization", "PullboxDevice \(signature.text)"), ("Content-Type", "application/json"),
        ])
      if method == "PUT" { request.body = .bytes(body) }
      return try await server.client.send(request)
    }

    func progress(_ server: ServerHarness) async throws -> ReadingProgress? {
      let answer = try await send("GET", server)
      #expect(answer.status == 200)
      return try APIJSON.decode(GrantProgress.self, from: answer.body).progress
    }

    func put(_ told: ReadingProgress, _ server: ServerHarness) async throws -> ReadingProgress? {
      let answer = try await send("PUT", server, try APIJSON.encode(told))
      #expect(answer.status == 200)
      return try APIJSON.decode(GrantProgress.self, from: answer.body).progress
    }
  }

  private func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  private func run(
    _ body: @escaping (ServerHarness, _ phone: Reader, _ tablet: Reader) async throws -> Void
  ) async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.package)
      var readers = [try Reader("phone"), try Reader("tablet")]
      for index in readers.indices {
        let grant = try await server.grantForPurchase(device: readers[index].device)
        readers[index].path = "/v1/grants/\(grant.grant)/progress"
      }
      try await body(server, readers[0], readers[1])
    }
  }

  private func told(_ page: Int, on device: String, at time: Timestamp) -> ReadingProgress {
    ReadingProgress(
      modified: time, device: .init(id: device), page: page, progression: 0.5,
      version: ContentVersion("1.0"), pageName: "pages/\(page).jpg")
  }

  @Test("what one device tells, the customer's other one is told, with the page's name")
  func exchange() async throws {
    try await run { server, phone, tablet async throws in
      #expect(try await tablet.progress(server) == nil)
      let first = told(4, on: "phone", at: server.clock.now())
      #expect(try await phone.put(first, server) == first)
      #expect(try await tablet.progress(server) == first)
    }
  }

  @Test("the later of two words counts, whichever comes first, and a time to come is now") func later()
    async throws
  {
    try await run { server, phone, tablet async throws in
      let now = server.clock.now()
      let late = told(9, on: "tablet", at: now - .seconds(10))
      _ = try await tablet.put(late, server)
      #expect(try await phone.put(told(2, on: "phone", at: now - .seconds(20)), server) == late)
      let future = try await phone.put(told(3, on: "phone", at: now + .seconds(86_400)), server)
      #expect(future?.modified == now)
      #expect(try await tablet.progress(server)?.page == 3)
    }
  }

  @Test("another device's signature opens nothing") func signatures() async throws {
    try await run { server, phone, tablet async throws in
      for method in ["GET", "PUT"] {
        let body = try APIJSON.encode(told(1, on: "phone", at: server.clock.now()))
        #expect(try code(try await phone.send(method, server, body, by: tablet.key)) == .proofRefused)
      }
      #expect(try await tablet.progress(server) == nil)
    }
  }

  @Test("numbers that cannot be, and a body that is too long, are refused and change nothing")
  func malformed()
    async throws
  {
    try await run { server, phone, tablet async throws in
      let bodies: [(String, ProblemCode)] = [
        (#"{"modified":"2026-11-21T08:30:00.000Z","device":{"id":"p"},"page":-1}"#, .requestMalformed),
        (#"{"modified":"2026-11-21T08:30:00.000Z","device":{"id":""},"page":1}"#, .requestMalformed),
        (#"{"modified":"2026-11-21T08:30:00.000Z","device":{"id":"p"},"progression":2}"#, .requestMalformed),
        (#"{"page":1}"#, .requestMalformed),
        (String(repeating: " ", count: 17 << 10), .requestTooLarge),
      ]
      for (body, expected) in bodies {
        #expect(
          try code(try await phone.send("PUT", server, Array(body.utf8))) == expected, "\(body.prefix(80))")
      }
      #expect(try await tablet.progress(server) == nil)
    }
  }
}
