import PullboxKit
import PullboxKitTesting

/// The samples of docs/kit.md, in their order, with the little around them that makes them a program. That they compile, with the two imports of
/// an app and its tests, is what they are here for; `DocumentSampleTests` holds the page to them.
enum DocumentSamples {
  static func shop() async throws {
    let products = try await Product.all()
    for product in products {
      print(product.displayName, product.isHeld ? "owned" : product.displayPrice)
    }
  }

  static func purchase(_ product: Product) async throws {
    switch try await product.purchase(confirm: { offer in await ask("Buy for \(offer.displayPrice)?") }) {
    case .delivered(let delivery): open(delivery.path)
    case .delivering(let transaction): open(try await transaction.delivered.path)
    case .pending: say("The store has not decided. It comes by itself.")
    case .declined(let refusal): say(refusal.description)
    }
  }

  static func progress(_ transaction: Transaction) async throws {
    for try await download in transaction.progress {
      show(download.progress, download.statusText)
    }
  }

  static func updates() async throws {
    for try await transaction in Transaction.updates {
      show(transaction.title ?? transaction.product.description, transaction.statusText ?? "")
    }
  }

  static func entitlements() async throws {
    for try await entitlement in Transaction.currentEntitlements {
      unlock(entitlement.product, until: entitlement.until)
    }
  }

  static func ownership(_ product: Product) async throws {
    switch try await AppStore.ownership(of: product.id) {
    case .verified(let ownership) where ownership.owned: unlock(product.id, until: ownership.until)
    case .verified: offerAgain()
    case .unverified(_, .licenseExpired): say("Connect once, to go on reading")
    case .unverified(let ownership, _): if ownership.owned { unlock(product.id, until: ownership.until) }
    }
  }

  static func restore() async throws {
    let plan = try await AppStore.plan()
    say("\(plan.missing.count) issues, \(plan.length)")
    let begun = try await AppStore.sync(Set(plan.missing.prefix(3).map(\.product)))
    say("\(begun.count)")
  }

  static func page(_ agent: AgentClient, _ product: ProductIdentifier) async throws {
    if let page = try await agent.page(1, of: .product(product)) {
      draw(page.bytes, "\(page.number) of \(page.count)")
    }
  }

  static func parts(_ agent: AgentClient, _ product: ProductIdentifier) async throws {
    let files = try await agent.files(of: .product(product))
    for file in files.files where file.path.hasSuffix(".mp3") {
      for try await part in agent.contents(of: file, in: .product(product, version: files.version)) {
        play(part)
      }
    }
  }

  static func lease(_ agent: AgentClient, _ product: ProductIdentifier) async throws {
    let lease = try await agent.lease(product)
    try await agent.noteOpened(product)
    open(lease.item.path)
    try await agent.report(ReadingReport(page: 11), of: product)
    lease.end()
  }

  static func sections(_ agent: AgentClient, _ product: ProductIdentifier) async throws {
    for section in try await agent.sections(of: product).sections where !section.isHere {
      guard await ask("Fetch \(section.title?["en"] ?? section.tag.description), \(section.length)?") else {
        continue
      }
      try await agent.fetch(section.tag, of: product)
    }
  }

  static func ownDownloads(_ name: SessionName) async throws {
    try AppStore.use(session: name)
    for download in try await AppStore.agent.downloads(of: name, .live) {
      show(download.title ?? download.product.description, download.progress)
    }
  }

  static func subscription(_ product: Product) async throws {
    if let status = try await SubscriptionInfo.status(for: product.id) {
      switch status.state {
      case .subscribed, .paused: say(status.statusText)
      case .inGracePeriod, .inBillingRetry: say(status.statusText)
      case .priceConsent(let price):
        let accepts = await ask("It will cost \(price.price.amount) \(price.price.currency). Go on?")
        _ = try await status.manage(accepts ? .acceptPrice : .end)
      case .expired, .revoked: offerAgain()
      }
    }
  }

  static func messages() async throws {
    for try await message in Message.messages { say(message.text) }
  }

  static func model() async throws {
    let shop = try ShopModel()
    async let running: Void = shop.run()
    await shop.load(["com.example.heroes.issue42"])
    for await state in shop.states {
      for row in state.rows { show(row.product.displayName, row.statusText) }
    }
    try await running
  }

  static func session(page: [UInt8]) async throws {
    try await TestSession.with { session in
      try await session.publish(
        "com.example.issue1", title: "Heroes 1", price: "2.99", pages: ["1.jpg": page])
      let product = try await Product.products(for: ["com.example.issue1"], from: session.agent)[0]
      try await session.declineNextPurchase()
      guard case .declined = try await product.purchase(confirm: { _ in true }) else { return fail() }
      session.slowDown(to: .kibibytes(512))
      guard case .delivering(let transaction) = try await product.purchase(confirm: { _ in true }) else {
        return fail()
      }
      _ = try await transaction.delivered
      try await session.refund(transaction.id)
      session.advance(by: .seconds(86_400))
    }
  }

  private static func ask(_ question: String) async -> Bool { !question.isEmpty }
  private static func open(_ path: String?) {}
  private static func draw(_ bytes: [UInt8], _ title: String) {}
  private static func play(_ bytes: [UInt8]) {}
  private static func say(_ text: String) {}
  private static func show(_ values: Any...) {}
  private static func unlock(_ product: ProductIdentifier, until: Timestamp?) {}
  private static func offerAgain() {}
  private static func fail() {}
}
