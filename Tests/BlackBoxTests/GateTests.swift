import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The requests that open nothing: missing purchases, receipts that are not right, tickets that do not fit.
@Suite("The gate from outside", .timeLimit(.minutes(10)))
struct GateTests {
  private static let product = "com.example.gated"
  private static let device = "device-of-the-reader"
  private static let withoutAgent = Stack.Options(parts: [.store, .server])

  @Test("no purchase, no grant")
  func purchaseRequired() async throws {
    try await Stack.with(Self.withoutAgent) { stack in
      try await Self.publish(in: stack)
      let receipt = try await stack.receipt(device: Self.device)
      let answer = try await stack.askForGrant(of: Self.product, receipt: receipt, device: Self.device)
      #expect(answer.problem?.code == .purchaseRequired, "\(answer.text)")
      #expect(try await stack.deliveries(of: Self.product).isEmpty)
    }
  }

  @Test("a receipt with any byte flipped is refused by name and never answered with a failure of the server")
  func flippedReceipts() async throws {
    try await Stack.with(Self.withoutAgent) { stack in
      try await Self.publish(in: stack)
      _ = try await stack.buy(Self.product, device: Self.device)
      let receipt = try #require(Base64Text.decode(try await stack.receipt(device: Self.device)))
      let stride = max(1, receipt.count / 60)
      for offset in Swift.stride(from: 0, to: receipt.count, by: stride) {
        var damaged = receipt
        damaged[offset] ^= 0x01
        let answer = try await stack.askForGrant(
          of: Self.product, receipt: Base64Text.encode(damaged), device: Self.device)
        // A flip in the bundle identifier shows before the store is asked to judge the rest.
        let refusals: [ProblemCode?] = [.receiptMalformed, .receiptNotAuthentic, .receiptWrongApplication]
        #expect(refusals.contains(answer.problem?.code), "byte \(offset): \(answer.text)")
      }
    }
  }

  @Test("receipts of another application or device, empty ones and noise are refused by name")
  func foreignReceipts() async throws {
    try await Stack.with(Self.withoutAgent) { stack in
      try await Self.publish(in: stack)
      _ = try await stack.buy(Self.product, device: Self.device)
      var noise = [UInt8](repeating: 0, count: 1 << 20)
      var generator = SystemRandomNumberGenerator()
      for index in noise.indices { noise[index] = UInt8.random(in: .min ... .max, using: &generator) }
      let cases: [(String, String, [ProblemCode])] = [
        (
          "another application",
          try await stack.receipt(device: Self.device, bundle: "com.example.another"),
          [.receiptWrongApplication]
        ),
        ("another device", try await stack.receipt(device: "device-of-somebody"), [.receiptNotAuthentic]),
        ("empty", "", [.receiptMalformed]),
        ("1 MiB of noise", Base64Text.encode(noise), [.receiptMalformed]),
        ("no base 64", "%%%", [.receiptMalformed]),
      ]
      for (name, receipt, codes) in cases {
        let answer = try await stack.askForGrant(of: Self.product, receipt: receipt, device: Self.device)
        #expect(answer.problem?.code.map { codes.contains($0) } == true, "\(name): \(answer.text)")
      }
      let honest = try await stack.askForGrant(
        of: Self.product, receipt: try await stack.receipt(device: Self.device), device: Self.device)
      #expect(honest.status == 201)
    }
  }

  @Test("a ticket that is missing, tampered with or for other content opens nothing")
  func tickets() async throws {
    try await Stack.with(Self.withoutAgent) { stack in
      try await Self.publish(in: stack)
      let other = try await Material.file("other.cbz", length: 70_000, seed: 2, in: stack.directory)
      try await stack.publish(other, as: "com.example.other")
      let terms = try await stack.grant(of: Self.product, device: Self.device).download
      let otherTerms = try await stack.grant(of: "com.example.other", device: Self.device).download

      let opened = try await Self.content(terms, ticket: terms.ticket, in: stack)
      #expect(opened.status == 200)
      #expect(opened.body.count == Int(terms.length.rawValue))
      #expect(try await stack.server.get(terms.contentURL).problem?.code == .ticketMissing)
      #expect(
        try await Self.content(terms, ticket: otherTerms.ticket, in: stack).problem?.code == .ticketInvalid)
      let characters = Array(terms.ticket)
      for index in characters.indices {
        var changed = characters
        changed[index] = changed[index] == "A" ? "B" : "A"
        let answer = try await Self.content(terms, ticket: String(changed), in: stack)
        #expect(answer.problem?.code == .ticketInvalid, "character \(index): \(answer.text)")
      }
    }
  }

  @Test("an expired ticket opens nothing, and a fresh one takes its place without a receipt")
  func expiredTicket() async throws {
    var options = Self.withoutAgent
    options.ticketLifetime = "1s"
    try await Stack.with(options) { stack in
      try await Self.publish(in: stack)
      let grant = try await stack.grant(of: Self.product, device: Self.device)
      try await eventually {
        try await Self.content(grant.download, ticket: grant.download.ticket, in: stack).problem?.code
          == .ticketExpired
      }
      // It lives for a second too: on a machine that stands still that long, the next one is tried.
      try await eventually {
        let fresh: TicketResponse = try await stack.device(holding: grant).post(
          "/v1/grants/\(grant.grant)/tickets"
        ).decoded()
        let answer = try await Self.content(grant.download, ticket: fresh.ticket, in: stack)
        if answer.problem?.code == .ticketExpired { return false }
        #expect(answer.status == 200)
        return true
      }
    }
  }

  @Test("an upload of one byte more than a package may hold is refused before a byte of it is sent")
  func tooLarge() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let web = await stack.operatorWeb
      for (length, status) in [("2147483649", 413), ("2147483648", 201)] {
        let answer = try await web.send(
          "POST", "/v1/operator/uploads", headers: [("Tus-Resumable", "1.0.0"), ("Upload-Length", length)])
        #expect(answer.status == status, "\(length): \(answer.text)")
        if status == 413 { #expect(answer.problem?.code == .uploadTooLarge) }
      }
    }
  }

  private static func publish(in stack: Stack) async throws {
    let file = try await Material.file("gated.cbz", length: 300_000, in: stack.directory)
    try await stack.publish(file, as: product)
  }

  private static func content(
    _ terms: DownloadTerms, ticket: String, in stack: Stack
  ) async throws -> Answer {
    try await stack.server.get(terms.contentURL, headers: [("Authorization", "Bearer \(ticket)")])
  }
}
