import Commerce
import CoreTypes
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@Suite("A reader buys with pullbox", .timeLimit(.minutes(10)))
struct ShopTests {
  @Test("without a terminal buy needs --yes, says what it costs, and charges nothing for what is owned")
  func buying() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")

      let unasked = try await stack.pullbox("buy", "com.example.file")
      #expect(unasked.ending == .exited(2))
      #expect(unasked.errors.contains("--yes"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let bought = try await stack.pullbox("buy", "com.example.file", "--yes", "--wait")
      #expect(bought.ending == .exited(0), "\(bought.errors)")
      #expect(bought.errors.contains("free (Sandbox)"))

      let again = try await stack.pullbox("buy", "com.example.file", "--yes")
      #expect(again.ending == .exited(0))
      #expect(again.output.contains("owned already"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let shop = try await stack.pullbox("shop")
      #expect(shop.ending == .exited(0), "\(shop.errors)")
      #expect(shop.output.contains("com.example.file") && shop.output.contains("owned"))

      // The lists that shells complete by.
      for (list, names) in [("sale", "com.example.file\n"), ("publications", "")] {
        let listed = try await stack.pullbox("complete", list)
        #expect(listed.output == names && listed.errors.isEmpty, "\(list)")
      }

      let unknown = try await stack.pullbox("buy", "com.example.none", "--yes")
      #expect(unknown.ending == .exited(1))
      #expect(unknown.errors.contains("not for sale"))
    }
  }

  private func control(_ method: String, _ path: String, _ body: String, at stack: Stack) async throws
    -> Answer
  {
    let answer = try await stack.store().send(
      method, "/sandbox/v1/\(path)", headers: [("Content-Type", "application/json")], body: Array(body.utf8))
    guard (200..<300).contains(answer.status) else { throw Stack.Failure(description: answer.text) }
    return answer
  }

  @Test(
    "a trial is shown before it is bought, with what follows, and no more after it; what was shown is what is sold"
  )
  func trial() async throws {
    try await Stack.with { stack in
      let (issue, monthly) = ("com.example.heroes.1", "com.example.heroes.monthly")
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      let magazine = ProductIdentifier("com.example.heroes")
      try await stack.describe(
        issue, ProductDescription(publication: magazine, publicationDate: SystemWallClock().now()))
      try await stack.release(file, as: issue)
      let price = try #require(Price(amount: "4.99", currency: "USD"))
      try await stack.describe(
        monthly,
        ProductDescription(
          type: .autoRenewableSubscription, prices: ["USA": price], publication: magazine,
          period: BillingPeriod("P1M"), onSale: true))
      _ = try await control(
        "PUT", "offers/\(monthly)", #"{"introductory":{"payment":"free-trial","period":"P1W"}}"#, at: stack)
      let shown = try await stack.agent.web.get("/v1/products?id=\(monthly)")
        .decoded(AgentProductsResponse.self).products
      #expect(shown.first?.offer?.payment == .freeTrial && shown.first?.offer?.eligible == true)
      let shop = try await stack.pullbox("shop", "com.example.heroes")
      #expect(shop.output.contains("free for a week, then $4.99 a month"), "\(shop.output)\(shop.errors)")

      // The offer changes between the look and the purchase.
      let old = try await stack.agent.web.post(
        "/v1/purchases", ["product": monthly, "shown": "4.99 USD; free-trial P1M"])
      #expect(old.problem?.code == .priceChanged, "\(old.text)")
      let bought = try await stack.pullbox("buy", monthly, "--yes", "--wait")
      #expect(bought.ending == .exited(0), "\(bought.errors)")
      #expect(bought.errors.contains("free for a week, then $4.99 a month"), "\(bought.errors)")
      let sold = try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self)
      #expect(sold.transactions.filter { $0.state == .purchased }.map(\.price) == [nil])
      let after = try await stack.pullbox("shop", "com.example.heroes")
      #expect(!after.output.contains("free for a week") && after.output.contains("subscribed until"))
    }
  }

  @Test(
    "who bought the application before it was sold otherwise owns an issue without another payment, and who came later does not"
  )
  func modelSwitch() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.included"
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      var description = ProductDescription()
      description.ownedIf = .originalVersionBelow(try #require(ApplicationVersion("2.0")))
      try await stack.describe(product, description)
      try await stack.release(file, as: product)
      func opened(version: String, device: String) async throws -> Int {
        let made = try await control(
          "POST", "accounts", #"{"territory":"USA","name":"\#(device)"}"#, at: stack
        )
        .decoded(AccountResponse.self)
        _ = try await control(
          "PATCH", "accounts/\(made.account)", #"{"originalApplicationVersion":"\#(version)"}"#, at: stack)
        let store = Web(base: await stack.store().base, credential: made.token, client: stack.client)
        let receipt = try await store.get("/store/v1/receipt?device=\(device)").decoded(ReceiptResponse.self)
          .receipt
        return try await stack.askForGrant(of: product, receipt: receipt, device: device).status
      }
      #expect(try await opened(version: "1.4", device: "reader-1") == 201)
      #expect(try await opened(version: "2.0", device: "reader-2") == 402)
      #expect(try await opened(version: "1.10", device: "reader-3") == 201)
    }
  }

  @Test("a code is redeemed by a command, in small letters too, its content comes, and refusals are in words")
  func redeemed() async throws {
    try await Stack.with { stack in
      let gift = "com.example.gift"
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: gift)
      func makeCode(_ more: String = "") async throws -> String {
        try await control("POST", "codes", #"{"product":"\#(gift)","uses":1\#(more)}"#, at: stack)
          .decoded(StoreCode.self).code
      }
      let code = try await makeCode()
      let redeemed = try await stack.pullbox("redeem", code.lowercased(), "--wait")
      #expect(redeemed.ending == .exited(0), "\(redeemed.errors)")
      #expect(redeemed.output.contains("finished") && redeemed.output.contains(gift))
      #expect(redeemed.errors.contains(" as a gift (Sandbox)"), "what it gives is told before")
      #expect(try await stack.pullbox("path", gift).succeeded)
      #expect(try await stack.unfinishedTransactions().isEmpty)
      for (text, words) in [
        (code, "redeemed the code already"), (try await makeCode(), "is owned"), ("ABCDEF", "no such code"),
      ] {
        let refused = try await stack.pullbox("redeem", text)
        #expect(refused.ending == .exited(1) && refused.errors.contains(words), "\(refused.errors)")
      }
      #expect(try await stack.pullbox("redeem", "a b").ending == .exited(2))
    }
  }

  @Test("what is exported and imported again changes nothing, and a faulty line keeps all from being taken")
  func files() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      for name in ["catalog.csv", "catalog.json"] {
        let path = stack.directory.path(name)
        let exported = try await stack.pullbox("export", path)
        #expect(exported.ending == .exited(0), "\(exported.errors)")
        let imported = try await stack.pullbox("import", path)
        #expect(imported.output == "0 created, 0 changed, 1 unchanged\n", "\(imported.errors)")
      }
      let path = stack.directory.path("faulty.csv")
      let text = "id,title:en-US,price:FRA\ncom.example.new,New,2.99 EUR\ncom.example.other,,\nx y,X,\n"
      try DurableFile.write(Array(text.utf8).span, to: path)
      let unreadable = try await stack.pullbox("import", path)
      #expect(unreadable.ending == .exited(1))
      #expect(unreadable.errors.contains("faulty.csv:4:1: id: cannot be 'x y'"))
      let none = try await stack.pullbox("product", "com.example.new")
      #expect(none.ending == .exited(1))
    }
  }
}
