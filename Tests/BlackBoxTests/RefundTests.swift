import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// A refund, and its being taken back, in the middle of a large body.
@Suite("A refund in the middle of a body", .serialized, .timeLimit(.minutes(5)))
struct RefundTests {
  private static let product = "com.example.issue1"
  private static let length = 200_000_000
  /// Where a reader stops until the refund is made.
  private static let middle = 100_000_000
  private static let chunk = 1 << 17
  private static let device = "reader-1"

  /// The rest of the body from `offset` on, until it ends; with the status that it was answered with.
  private func receive(
    _ grant: GrantResponse, from offset: Int, of stack: Stack
  ) async throws -> RawConnection {
    let url = try #require(URL(string: stack.serverProxy.url))
    let connection = try RawConnection.tcp(
      port: UInt16(try #require(url.port)), receiveBuffer: 65_536)
    try await connection.send(
      "GET \(grant.download.contentURL)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n"
        + (offset > 0 ? "Range: bytes=\(offset)-\r\n" : "") + "\r\n")
    let head = try await connection.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("HTTP/1.1 \(offset > 0 ? 206 : 200) "), "\(head)")
    return connection
  }

  private func count(_ connection: RawConnection, upTo limit: Int = .max) async -> Int {
    var received = 0
    while received < limit,
      let bytes = try? await connection.receive(upTo: min(limit - received, Self.chunk)), !bytes.isEmpty
    { received += bytes.count }
    return received
  }

  /// The proof by which a device shows its purchase.
  enum Shown: String, CaseIterable, Sendable {
    case signedTransaction
    case appReceipt
  }

  /// Publishes a large issue, buys it, and shows the purchase; answers the file, the transaction's identifier and the grant.
  private func buy(
    on stack: Stack, showing shown: Shown
  ) async throws -> (file: String, transaction: String, grant: GrantResponse) {
    let file = try await Material.file("issue.cbz", length: Int64(Self.length), in: stack.directory)
    let price = try #require(Price(amount: "2.99", currency: "USD"))
    try await stack.describe(Self.product, ProductDescription(prices: ["USA": price]))
    try await stack.publishByCommand(file, as: Self.product)
    let bought = try await stack.buy(Self.product, device: Self.device)
    let proof =
      switch shown {
      case .signedTransaction:
        Proof(
          store: "apple", signedTransaction: try await stack.signedTransaction(bought.id.description))
      case .appReceipt: Proof(store: "apple", receipt: try await stack.receipt(device: Self.device))
      }
    let request = GrantRequest(
      proof: proof, product: try #require(ProductIdentifier(Self.product)),
      device: Device(id: try #require(DeviceIdentifier(Self.device))))
    let answer = try await stack.server.post("/v1/grants", request)
    try #require(answer.status == 201, "\(answer.text)")
    let grant = try answer.decoded(GrantResponse.self)
    return (file, bought.id.description, grant)
  }

  /// The status that a request for the content would be answered with, of which it gets no byte.
  private func status(_ grant: GrantResponse, on stack: Stack) async throws -> Int {
    try await stack.server.send(
      "HEAD", "\(grant.download.contentURL)?ticket=\(grant.download.ticket)"
    ).status
  }

  /// Takes the refund back and fetches the rest, which begins where the first body ended.
  private func goOn(
    _ grant: GrantResponse, of bought: String, after received: Int, _ file: String, on stack: Stack
  ) async throws {
    try await stack.control("transactions/\(bought)/reverse")
    try await eventually { try await status(grant, on: stack) == 200 }
    let whole = try Data(contentsOf: URL(fileURLWithPath: file), options: .mappedIfSafe)
    let second = try await receive(grant, from: received, of: stack)
    var offset = received
    while offset < Self.length {
      let bytes = try await second.receive(upTo: Self.chunk)
      try #require(!bytes.isEmpty && offset + bytes.count <= Self.length, "at \(offset)")
      try #require(Data(bytes) == whole[offset..<(offset + bytes.count)], "at \(offset)")
      offset += bytes.count
    }
    #expect(offset == Self.length, "every byte has arrived, and none twice")
    // The bytes that were under way in the sockets when the first body ended have not arrived.
    var sent: Double = 0
    try await eventually {
      let page = try await stack.server.get("/metrics")
      let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      sent = samples["pullbox_delivered_bytes_total"] ?? 0
      return sent >= Double(Self.length)
    }
    #expect(sent - Double(Self.length) <= Double(4 << 20), "Linux gives a socket 4 MiB at most by itself")
  }

  @Test(
    "it ends the body soon after the store's notification; its reversal goes on from the same byte, and no byte arrives twice"
  )
  func course() async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = true
    try await Stack.with(options) { stack in
      let (file, bought, grant) = try await buy(on: stack, showing: .signedTransaction)
      let first = try await receive(grant, from: 0, of: stack)
      var received = await count(first, upTo: Self.middle)
      #expect(received == Self.middle)
      try await stack.control("transactions/\(bought)/refund")
      // The body waits in the server meanwhile: a reader that went on could have all of it before the store has told anyone.
      try await eventually { try await status(grant, on: stack) == 403 }
      let clock = SystemMonotonicClock()
      let begin = clock.now()
      received += await count(first)
      let taken = clock.now() - begin
      #expect(received < Self.length)
      #expect(taken < .seconds(10), "\(taken)")
      try await goOn(grant, of: bought, after: received, file, on: stack)
    }
  }

  @Test(
    "it ends the body by a poll where the store notifies no one, whatever was shown of the purchase",
    arguments: Shown.allCases)
  func polled(shown: Shown) async throws {
    var options = Stack.Options(parts: [.store])
    options.signsData = true
    options.isNotified = false
    try await Stack.with(options) { stack in
      try await stack.start(.server, arguments: ["--refund-poll", "1s"])
      let (_, bought, grant) = try await buy(on: stack, showing: shown)
      let body = try await receive(grant, from: 0, of: stack)
      var received = await count(body, upTo: Self.middle)
      let clock = SystemMonotonicClock()
      let begin = clock.now()
      try await stack.control("transactions/\(bought)/refund")
      // Nothing is shown to the server again, and the body waits in it: what ends it is the poll.
      try await eventually { try await status(grant, on: stack) == 403 }
      let taken = clock.now() - begin
      received += await count(body)
      #expect(received < Self.length)
      // A poll a second, and the store's answers, also on a slow machine.
      #expect(taken < .seconds(10), "\(taken)")
    }
  }
}
