import Commerce
import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import PackageTesting
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime

extension FakeServer {
  func router() -> Router {
    var routes = APIRoutes()
    routes.on(.get, "/healthz") { _, _ in
      try self.check("GET /healthz")
      return HTTPResponse(status: .ok, body: .bytes(Array("ok\n".utf8)))
    }
    routes.on(.get, "/store/v1/transactions") { request, _ in
      try self.check("GET /store/v1/transactions")
      // Until the peer gives up, which cancels this.
      if self.state.current.isStoreDeaf { try await Task.sleep(for: .seconds(600)) }
      self.change { $0.queueDevice = request.queryValue("device") }
      if let known = request.queryValue("known") {
        self.change { $0.queueWaits.append(SystemMonotonicClock().now()) }
        // Until the peer gives up, which cancels this.
        while self.state.current.queueTags == .awaited, self.tag(of: self.page(of: request)) == known {
          try await Task.sleep(for: .milliseconds(10))
        }
      }
      let page = self.page(of: request)
      let answer = TransactionsResponse(
        transactions: page, revision: self.state.current.accountRevision,
        tag: self.state.current.queueTags == .none ? nil : self.tag(of: page))
      while self.state.current.isQueueHeld { await Task.yield() }
      return try .json(answer)
    }
    routes.on(.get, "/store/v1/receipt") { _, _ in
      try self.check("GET /store/v1/receipt")
      self.change { $0.receiptsGiven += 1 }
      return try .json(ReceiptResponse(receipt: "AAAA"))
    }
    routes.on(.post, "/store/v1/purchases") { request, _ in
      try self.check("POST /store/v1/purchases")
      let purchase = try await request.decode(PurchaseRequest.self)
      let key = try request.idempotencyKey()
      self.change { $0.purchaseKeys.append(key) }
      if let key, let known = self.state.current.sold[key] {
        return try .json(TransactionResponse(transaction: known))
      }
      if let shown = purchase.shown {
        let listing = self.state.current.listings.first { $0.id == purchase.product }
        guard let listing else { throw Problem(.productUnknown) }
        guard ShownPrice(of: listing) == shown else { throw Problem(.priceChanged) }
      }
      self.change { $0.purchases.append(purchase) }
      let number = 2_000_000_000_000_000 + self.state.current.purchases.count
      try self.queuePurchase(purchase.product.description, transaction: "\(number)")
      guard let entry = self.state.current.transactions.last else { throw Problem(.internalError) }
      if let key { self.change { $0.sold[key] = entry } }
      return try .json(TransactionResponse(transaction: entry))
    }
    routes.on(.get, "/store/v1/codes/{code}") { _, parameters in
      try self.check("GET /store/v1/codes")
      if let document = self.state.current.codePreviewDocument {
        return HTTPResponse(status: .ok, body: .bytes(Array(document.utf8)))
      }
      // The router answers so where it knows the address for another method.
      guard let previews = self.state.current.codePreviews else { throw Problem(.methodNotAllowed) }
      guard let preview = previews[parameters["code"]] else {
        throw Problem(.notFound, "there is no such code")
      }
      return try .json(preview)
    }
    routes.on(.post, "/store/v1/codes/{code}") { request, parameters in
      try self.check("POST /store/v1/codes")
      let code = parameters["code"]
      guard let product = self.state.current.codes[code] else {
        throw Problem(.notFound, "there is no such code")
      }
      let key = try request.idempotencyKey() ?? ""
      while self.state.current.areCodesHeld { await Task.yield() }
      let sale = try Self.sale(of: product, as: "2000000000000777")
      let known = self.state.withLock { state -> StoreTransaction? in
        state.redemptions.append("\(code) \(key)")
        if let known = state.sold[key] { return known }
        state.transactions.append(sale)
        state.sold[key] = sale
        return nil
      }
      return try .json(
        TransactionResponse(transaction: known ?? sale), status: known == nil ? .created : .ok)
    }
    routes.on(.get, "/store/v1/offers") { request, _ in
      try self.check("GET /store/v1/offers")
      // Until the peer gives up, which cancels this.
      if self.state.current.isDeafForOffers { try await Task.sleep(for: .seconds(600)) }
      if let document = self.state.current.offersDocument {
        return HTTPResponse(status: .ok, body: .bytes(Array(document.utf8)))
      }
      guard let offers = self.state.current.offers else { throw Problem(.notFound) }
      let named = request.queryValues("product")
      return try .json(
        AccountOffersResponse(products: offers.filter { named.contains($0.product.description) }))
    }
    routes.on(.post, "/v1/entitlements") { request, _ in
      try self.check("POST /v1/entitlements")
      let asked = try await request.decode(EntitlementsRequest.self)
      try self.checkStore(of: asked.proofs)
      let products = self.entitled()
      return try .json(
        EntitlementsResponse(
          products: products, settled: self.settle(asked.waiting ?? [], besides: products),
          feed: self.feedReference(), hasPlace: self.state.current.hasPlace,
          subscribedUntil: self.state.current.subscribedUntil,
          subscribedSince: self.state.current.subscribedSince))
    }
    routes.on(.get, "/v1/feed") { request, _ in
      try self.check("GET /v1/feed")
      return try .json(try await self.tellings(to: request))
    }
    routes.on(.get, "/v1/license") { request, _ in
      self.change { $0.licenseQuestions += 1 }
      guard let key = self.state.current.licenseKeys.last else { throw Problem(.notFound) }
      try self.check("GET /v1/license")
      let license = try self.license(to: request, signedWith: key)
      let given = self.state.withLock { state -> LicenseResponse in
        let first = state.firstLicense ?? license
        state.firstLicense = first
        return state.repeatsLicenses ? first : license
      }
      return try .json(given)
    }
    routes.on(.post, "/v1/grants") { request, _ in
      try self.check("POST /v1/grants")
      let asked = try await request.decode(GrantRequest.self)
      try self.checkStore(of: asked.proofs)
      return try .json(try self.grant(asked), status: .created)
    }
    routes.on(.get, "/v1/grants/{grant}") { request, parameters in
      try self.check("GET /v1/grants")
      try self.checkProof(of: request)
      return try .json(try self.status(parameters["grant"]))
    }
    routes.on(.post, "/v1/grants/{grant}/tickets") { request, _ in
      try self.check("POST /v1/grants/tickets")
      try self.checkProof(of: request)
      self.change { $0.ticket = "ticket-\($0.asked.count)" }
      return try .json(
        TicketResponse(
          ticket: self.state.current.ticket,
          ticketExpires: Timestamp(millisecondsSinceEpoch: 1_895_249_800_000)))
    }
    routes.on(.post, "/v1/grants/{grant}/completion") { request, parameters in
      try self.check("POST /v1/grants/completion")
      let text = String(decoding: try await request.bytes(upTo: .kibibytes(64)), as: UTF8.self)
      return try self.complete(parameters["grant"], text)
    }
    routes.on(.post, "/v1/grants/{grant}/failure") { request, _ in
      try self.check("POST /v1/grants/failure")
      try self.checkProof(of: request)
      let failure = try await request.decode(VerificationFailure.self)
      self.change { $0.failures.append(failure) }
      return try .json(CompletionResponse(state: .granted))
    }
    routes.on(.get, "/v1/content/{digest}/manifest") { request, parameters in
      try self.check("GET /v1/content/manifest")
      let package = try self.package(parameters["digest"], request)
      if self.state.current.unreadyManifests.contains(package.manifest.product) {
        throw Problem(.unavailable)
      }
      let document = self.state.current.manifestDocument ?? package.manifest.canonicalBytes()
      if let cut = self.state.current.manifestCut { return self.manifest(document, request, cutAfter: cut) }
      guard let pause = self.state.current.manifestPause else {
        return HTTPResponse(status: .ok, body: .bytes(document))
      }
      return HTTPResponse(
        status: .ok,
        body: .stream(contentLength: Int64(document.count)) { writer in
          try await Task.sleep(for: pause)
          try await writer.write(Array(document.prefix(1)))
          try await Task.sleep(for: pause)
          try await writer.write(Array(document.dropFirst()))
        })
    }
    routes.on(.get, "/v1/content/{digest}") { request, parameters in
      try self.check("GET /v1/content")
      return try await self.content(try self.package(parameters["digest"], request), request)
    }
    addShop(to: &routes)
    addReaders(to: &routes)
    addReading(to: &routes)
    return routes.router { _, _ in }
  }

  private func addShop(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/products") { request, _ in
      try self.check("GET /v1/products")
      let names = request.queryValues("id")
      let query = ["territory", "locale", "device"].map { request.queryValue($0) ?? "-" }
      self.change { $0.applications.append(request.queryValue("application")) }
      self.change { $0.productQueries.append((names + query).joined(separator: " ")) }
      if let most = self.state.current.maximumNames, names.count > most { throw Problem(.requestTooLarge) }
      if !self.state.current.unavailableListings.isDisjoint(with: names) { throw Problem(.unavailable) }
      var found = self.state.current.listings.filter { names.contains($0.id.description) }
      if let preserved = self.state.current.preserved,
        request.queryValue("subscribedSince") == preserved.since.rfc3339
      {
        found = found.map { $0.id == preserved.listing.id ? preserved.listing : $0 }
      }
      return try .json(
        ProductsResponse(
          products: found,
          invalidProductIdentifiers: names.filter { name in !found.contains { $0.id.description == name } }))
    }
    routes.on(.get, "/v1/products/{id}/cover") { request, parameters in
      try self.check("GET /v1/products/cover")
      self.change { $0.coverWidths.append(request.queryValue("width")) }
      if self.state.current.unavailableCovers.contains(parameters["id"]) { throw Problem(.unavailable) }
      guard let cover = self.state.current.covers[parameters["id"]] else { throw Problem(.previewUnknown) }
      // Until the peer gives up, which cancels this.
      guard let cover else {
        try await Task.sleep(for: .seconds(600))
        throw Problem(.previewUnknown)
      }
      return HTTPResponse(status: .ok, body: .bytes(cover))
    }
    routes.on(.get, "/v1/publications") { request, _ in
      try self.check("GET /v1/publications")
      self.change { $0.applications.append(request.queryValue("application")) }
      self.change { $0.productQueries.append(request.queryValue("territory") ?? "-") }
      return try .json(PublicationsResponse(publications: self.state.current.publications, next: "more"))
    }
    routes.on(.get, "/v1/publications/{id}") { request, parameters in
      try self.check("GET /v1/publications/id")
      let state = self.state.current
      guard let publication = state.publications.first(where: { $0.id.description == parameters["id"] })
      else { throw Problem(.publicationUnknown) }
      return try .json(PublicationResponse(publication: publication, issues: state.listings))
    }
    routes.on(.get, "/store/v1/account") { _, _ in
      try self.check("GET /store/v1/account")
      return try .json(self.state.current.account)
    }
    routes.on(.get, "/store/v1/subscriptions") { _, _ in
      try self.check("GET /store/v1/subscriptions")
      return try .json(SubscriptionsResponse(subscriptions: self.state.current.subscriptions))
    }
    routes.on(.patch, "/store/v1/subscriptions/{originalId}") { request, parameters in
      try self.check("PATCH /store/v1/subscriptions")
      let change = try await request.decode(SubscriptionChange.self)
      let found = self.state.withLock { state -> StoreSubscription? in
        guard
          let index = state.subscriptions.firstIndex(where: {
            $0.originalId.description == parameters["originalId"]
          })
        else { return nil }
        if let renews = change.autoRenew { state.subscriptions[index].autoRenew = renews }
        if let product = change.product { state.subscriptions[index].renewalProduct = product }
        return state.subscriptions[index]
      }
      guard let found else { throw Problem(.subscriptionUnknown) }
      return try .json(found)
    }
  }

  private func feedReference(token: String? = nil) -> FeedReference? {
    guard state.current.feed != nil else { return nil }
    return FeedReference(
      url: "/v1/feed", token: token ?? state.current.feedToken,
      expires: Timestamp(millisecondsSinceEpoch: 1_895_249_800_000))
  }

  /// Signs what the entitlements endpoint lists as owned, but for what the feed has told otherwise.
  private func license(to request: HTTPRequest, signedWith key: SigningKey) throws -> LicenseResponse {
    guard let token = request.bearerToken, ["feed", state.current.feedToken].contains(token),
      let device = request.queryValue("device").flatMap({ DeviceIdentifier($0) }),
      let deviceKey = request.queryValue("key").flatMap({ VerificationKey(text: $0) }),
      let serial = request.queryValue("serial")
    else { throw Problem(.unauthorized) }
    var owned: [ProductIdentifier: License.Owned] = [:]
    for product in entitled() {
      owned[product.product] = License.Owned(
        product: product.product, because: product.because, until: product.until)
    }
    var ended: [ProductIdentifier: License.Ended] = [:]
    for entry in state.current.feed ?? [] {
      (owned[entry.product], ended[entry.product]) = (nil, nil)
      if entry.known == .revoked {
        ended[entry.product] = License.Ended(product: entry.product, because: "revoked", keep: entry.keep)
      } else {
        owned[entry.product] = License.Owned(
          product: entry.product, because: "published-during-subscription", until: entry.until)
      }
    }
    let issued = SystemWallClock().now() + state.current.clockOffset
    let license = License(
      serial: serial, device: device,
      deviceKey: state.current.licensedKey ?? deviceKey, issued: issued,
      expires: issued + state.current.licenseLifetime,
      owned: owned.values.sorted { $0.product < $1.product },
      ended: ended.values.sorted { $0.product < $1.product })
    let keys = state.current.licenseKeys
    let published = try keys.enumerated().map { index, key in
      LicenseKey(
        number: index + 1, key: key.verificationKey, seals: Timestamp(millisecondsSinceEpoch: 0),
        endorsement: index > 0
          ? try LicenseKey.endorsement(of: key.verificationKey, by: keys[index - 1]) : nil)
    }
    return LicenseResponse(license: try license.signed(with: key), keys: published.reversed())
  }

  private func tellings(to request: HTTPRequest) async throws -> FeedResponse {
    guard let token = request.bearerToken, ["feed", state.current.feedToken].contains(token),
      let reference = feedReference(token: token)
    else { throw Problem(.unauthorized) }
    change { $0.feedTokens.append(token) }
    let clock = SystemMonotonicClock()
    let seconds = try request.number("wait", in: 0...300, default: 0)
    change { $0.feedWaits.append(seconds) }
    let end = clock.now() + .seconds(seconds)
    let after = request.queryValue("after").flatMap { Int($0) }
    let isNew = state.withLock { state in
      defer { state.isFeedNew = false }
      return after == nil || state.isFeedNew
    }
    // A question whose agent has gone may still be open beside that of the next.
    let news = AsyncSignal()
    listeners.withLock { $0[ObjectIdentifier(news)] = news }
    defer { _ = listeners.withLock { $0.removeValue(forKey: ObjectIdentifier(news)) } }
    while !isNew, (state.current.feed?.count ?? 0) <= after ?? -1, clock.now() < end, !Task.isCancelled {
      await news.wait(atMost: end - clock.now(), clock: clock)
    }
    let told = state.current.feed ?? []
    return FeedResponse(
      entries: Array(told.dropFirst(isNew ? 0 : after ?? 0)), cursor: "\(told.count)", isWhole: isNew,
      feed: reference)
  }

  private func tag(of page: [StoreTransaction]) -> String {
    let state = state.current
    if state.queueTags == .everNew { return "\(state.asked.count)" }
    return page.map { "\($0.id.description)-\($0.state.rawValue)" }.joined(separator: ".") + "."
  }

  /// The unfinished transactions by identifier, as the store's contract has it.
  private func page(of request: HTTPRequest) -> [StoreTransaction] {
    let state = state.current
    let after = request.queryValue("after") ?? ""
    let limit = min(request.queryValue("limit").flatMap { Int($0) } ?? state.queuePage, state.queuePage)
    let device = request.queryValue("device")
    let unfinished = state.transactions.filter {
      $0.finishedDate == nil && $0.id.description > after
        && (device == nil || $0.device == nil || $0.device?.description == device)
    }
    return Array(unfinished.sorted { $0.id.description < $1.id.description }.prefix(limit))
  }

  /// Notes the request down, and throws what a test put in its way.
  func check(_ name: String) throws {
    let refusal = state.withLock { state -> Problem? in
      state.asked.append(name)
      guard let waiting = state.refusals[name], let first = waiting.first else { return nil }
      if waiting.count > 1 { state.refusals[name]?.removeFirst() }
      return first
    }
    if let refusal { throw refusal }
  }

  /// Checks the proof as the contract has it: signed by the device's key, for this request, for this server's time.
  func checkProof(of request: HTTPRequest) throws {
    guard let key = state.current.deviceKey, let text = request.credential(scheme: "PullboxDevice") else {
      throw Problem(.proofMissing)
    }
    let payload = try JSONWebSignature(text: text).payload(verifiedWith: key)
    let proof = try APIJSON.decode(DeviceProof.self, from: payload)
    guard proof.method == request.method.rawValue, proof.path == request.path else {
      throw Problem(.proofRefused)
    }
    let now = SystemWallClock().now() + state.current.clockOffset
    guard abs(proof.iat - now.secondsSinceEpoch) <= 300 else {
      change { $0.wrongTimes += 1 }
      throw Problem(.clockSkew, serverTime: now)
    }
  }

  private func owed(by transaction: StoreTransaction, _ state: State) -> [FixturePackage] {
    state.package.filter { $0.manifest.product.description.hasPrefix(transaction.product.description) }
  }

  private func entitled() -> [EntitledProduct] {
    let state = state.current
    guard state.isReleased else { return [] }
    return state.transactions.flatMap { transaction in
      owed(by: transaction, state).filter { !state.unplanned.contains($0.manifest.product) }.map { package in
        EntitledProduct(
          product: package.manifest.product, version: package.manifest.version,
          length: package.manifest.length,
          because: "purchased", transaction: transaction.id, state: "not-granted")
      }
    }
  }

  func checkStore(of proofs: ProofList) throws {
    guard let name = state.current.storeName else { return }
    guard proofs.all.allSatisfy({ $0.store == name }) else {
      throw Problem(.storeUnknown, "this server knows \(name), google")
    }
  }

  private func grant(_ request: GrantRequest) throws -> GrantResponse {
    guard let package = state.current.package.last(where: { $0.manifest.product == request.product }),
      let transaction = request.transaction ?? state.current.payments[request.product]
    else { throw Problem(.productUnknown) }
    let name = String(SHA256Digest.of("\(request.product) \(transaction)".utf8).hexadecimal.prefix(32))
    guard let grant = GrantIdentifier(name) else { throw Problem(.internalError) }
    let ticket = state.withLock { state in
      state.deviceKey = request.device.publicKey
      state.consents.append(request.consent)
      if state.grants[name] == nil {
        state.grants[name] = RecordedGrant(name: .granted, product: request.product, transaction: transaction)
      }
      return state.ticket
    }
    let digest = package.manifest.digest
    return GrantResponse(
      grant: grant, transaction: transaction,
      download: DownloadTerms(
        product: request.product, version: package.manifest.version, length: package.manifest.length,
        digest: digest,
        manifestDigest: state.current.manifestDocument.map { .of($0) } ?? package.manifest.manifestDigest,
        contentURL: "/v1/content/\(digest)",
        manifestURL: "/v1/content/\(digest)/manifest?product=\(request.product)", ticket: ticket,
        ticketExpires: Timestamp(millisecondsSinceEpoch: 1_895_249_800_000),
        publisherKeys: state.current.publisherKeys, signatures: signatures(of: package.manifest),
        previous: state.current.previous))
  }

  private func signatures(of manifest: Manifest) -> [PublisherSignature]? {
    let state = state.current
    guard !state.signingKeys.isEmpty else { return nil }
    return state.signingKeys.map { key in
      var signature = PublisherSignature(signing: manifest.canonicalBytes(), with: key)
      state.spoilSignature(&signature)
      return signature
    }
  }

  private func status(_ name: String) throws -> GrantStatus {
    settle()
    guard let grant = GrantIdentifier(name), let known = state.current.grants[name],
      let package = state.current.package.last(where: { $0.manifest.product == known.product }),
      let device = DeviceIdentifier("device")
    else { throw Problem(.grantUnknown) }
    return GrantStatus(
      grant: grant, state: known.name, store: "sandbox", transaction: known.transaction,
      product: known.product, version: package.manifest.version, device: device,
      digest: package.manifest.digest,
      length: package.manifest.length, bytesDelivered: .zero, history: [], remaining: remaining(beside: known)
    )
  }

  /// The products that the grant's transaction owes besides; nil where the grant is not completed, or there is nothing.
  private func remaining(beside grant: RecordedGrant) -> [ProductIdentifier]? {
    let state = state.current
    guard grant.name == .completed,
      let transaction = state.transactions.first(where: { $0.id == grant.transaction })
    else { return nil }
    let done = Set(
      state.grants.values.filter { $0.transaction == grant.transaction && $0.name != .granted }.map(\.product)
    )
    let products = owed(by: transaction, state).map(\.manifest.product).filter { !done.contains($0) }
    return products.isEmpty ? nil : products
  }

  private func complete(_ name: String, _ text: String) throws -> HTTPResponse {
    guard let key = state.current.deviceKey, let known = state.current.grants[name] else {
      throw Problem(.grantUnknown)
    }
    let payload = try JSONWebSignature(text: text).payload(verifiedWith: key)
    let report = try APIJSON.decode(CompletionReport.self, from: payload)
    if state.current.unreadyReports.contains(known.product) { throw Problem(.unavailable) }
    guard report.grant?.description == name,
      state.current.package.contains(where: {
        $0.manifest.digest == report.digest && $0.manifest.product == known.product
      })
    else { throw Problem(.completionMismatch, missingStep: .digest) }
    change { state in
      state.reports.append(report)
      if state.grants[name]?.name == .granted { state.grants[name]?.name = .completed }
    }
    settle()
    let now = state.current.grants[name]?.name ?? .completed
    return try .json(CompletionResponse(state: now), status: now == .finished ? .ok : .accepted)
  }

  /// Finishes, at the store, those that are entitled to nothing.
  private func settle(
    _ waiting: [TransactionIdentifier], besides products: [EntitledProduct]
  ) -> [TransactionIdentifier] {
    state.withLock { state in
      guard state.settlesEmpty else { return [] }
      let empty = waiting.filter { id in !products.contains { $0.transaction == id } }
      for index in state.transactions.indices where empty.contains(state.transactions[index].id) {
        state.transactions[index].finishedDate = Timestamp(millisecondsSinceEpoch: 1_795_249_900_000)
      }
      return empty
    }
  }

  /// Finishes, at the store, what has been delivered completely.
  private func settle() {
    change { state in
      guard state.isStoreUp else { return }
      let delivered = Dictionary(
        grouping: state.grants.values.filter { $0.name != .granted }, by: \.transaction)
      for index in state.transactions.indices where state.transactions[index].finishedDate == nil {
        let transaction = state.transactions[index].id
        guard let done = delivered[transaction] else { continue }
        let owed = owed(by: state.transactions[index], state).map(\.manifest.product)
        guard owed.allSatisfy({ product in done.contains { $0.product == product } }) else { continue }
        state.transactions[index].finishedDate = Timestamp(millisecondsSinceEpoch: 1_795_249_900_000)
        for (name, grant) in state.grants where grant.transaction == transaction {
          state.grants[name]?.name = .finished
        }
      }
    }
  }

  private func package(_ digest: String, _ request: HTTPRequest) throws -> FixturePackage {
    let state = state.current
    guard request.bearerToken == state.ticket else { throw Problem(.ticketExpired) }
    // The real server knows the product by the ticket.
    let product = request.queryValue("product")
    let package = state.package.first { package in
      package.manifest.digest.hexadecimal == digest
        && (product == nil || package.manifest.product.description == product)
    }
    guard let package else { throw Problem(.contentUnknown) }
    return package
  }
}
