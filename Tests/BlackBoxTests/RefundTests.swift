import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import Testing

/// A refund, and its being taken back, in the middle of a large body.
@Suite("A refund in the middle of a body", .serialized, .timeLimit(.minutes(5)))
struct RefundTests {
  private static let product = "com.example.issue1"
  private static let length = 64_000_000
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

  private func count(_ connection: RawConnection) async -> Int {
    var received = 0
    while let bytes = try? await connection.receive(upTo: 1 << 20), !bytes.isEmpty { received += bytes.count }
    return received
  }

  /// Publishes a large issue, buys it, and shows the signed transaction; answers the file, the transaction's identifier and the grant.
  private func buy(on stack: Stack) async throws -> (file: String, transaction: String, grant: GrantResponse)
  {
    let file = try await Material.file("issue.cbz", length: Int64(Self.length), in: stack.directory)
    let price = try #require(Price(amount: "2.99", currency: "USD"))
    try await stack.describe(Self.product, ProductDescription(prices: ["USA": price]))
    try await stack.publishByCommand(file, as: Self.product)
    let bought = try await stack.buy(Self.product, device: Self.device)
    let signed = try await stack.signedTransaction(bought.id.description)
    let request = GrantRequest(
      proof: Proof(store: "apple", signedTransaction: signed),
      product: try #require(ProductIdentifier(Self.product)),
      device: Device(id: try #require(DeviceIdentifier(Self.device))))
    let answer = try await stack.server.post("/v1/grants", request)
    try #require(answer.status == 201, "\(answer.text)")
    let grant = try answer.decoded(GrantResponse.self)
    return (file, bought.id.description, grant)
  }

  @Test("it ends the body once the store has notified; its reversal goes on from the same byte")
  func course() async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = true
    try await Stack.with(options) { stack in
      let (file, bought, grant) = try await buy(on: stack)

      let first = try await receive(grant, from: 0, of: stack)
      var received = try await first.receive(exactly: 1_000_000).count
      let clock = SystemMonotonicClock()
      let begin = clock.now()
      try await stack.control("transactions/\(bought)/refund")
      received += await count(first)
      let taken = clock.now() - begin
      #expect(received < Self.length)
      // A second is what is meant; this machine may be busy.
      #expect(taken < .seconds(5), "\(taken)")
      #expect(
        try await stack.server.get(
          "\(grant.download.contentURL)?ticket=\(grant.download.ticket)"
        ).status == 403)

      try await stack.control("transactions/\(bought)/reverse")
      try await eventually {
        try await stack.server.get(
          "\(grant.download.contentURL)?ticket=\(grant.download.ticket)", headers: [("Range", "bytes=0-0")]
        ).status == 206
      }
      let second = try await receive(grant, from: received, of: stack)
      let rest = try await second.receive(exactly: Self.length - received)
      #expect(received + rest.count == Self.length, "no byte twice")
      let whole = try Data(contentsOf: URL(fileURLWithPath: file), options: .mappedIfSafe)
      #expect(Data(rest) == whole.suffix(from: received))
    }
  }

  @Test("it ends the body within one poll where the store notifies no one")
  func polled() async throws {
    var options = Stack.Options(parts: [.store])
    options.signsData = true
    options.isNotified = false
    try await Stack.with(options) { stack in
      try await stack.start(.server, arguments: ["--refund-poll", "1s"])
      let (_, bought, grant) = try await buy(on: stack)
      let body = try await receive(grant, from: 0, of: stack)
      var received = try await body.receive(exactly: 1_000_000).count
      let clock = SystemMonotonicClock()
      let begin = clock.now()
      try await stack.control("transactions/\(bought)/refund")
      // Nothing is shown to the server again, and the body waits in it: what ends it is the poll.
      try await eventually {
        try await stack.server.get(
          "\(grant.download.contentURL)?ticket=\(grant.download.ticket)", headers: [("Range", "bytes=0-0")]
        ).status == 403
      }
      let taken = clock.now() - begin
      received += await count(body)
      #expect(received < Self.length)
      // A poll and the store's answer; this machine may be busy.
      #expect(taken < .seconds(6), "\(taken)")
    }
  }
}
