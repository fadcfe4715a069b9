import AgentRecords
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import HTTPParsing
import PullboxAPI
import PullboxAPIClient
import Receipts
import ServiceAPI

/// The delivery server's interface for devices.
struct DeliveryClient: Sendable {
  /// With the server's trust, without a credential: devices show proofs and signatures.
  var api: APIClient
  /// The state that all transfers of content share.
  let path: ServerPath
  /// The health that calls of the server are counted in.
  let monitor: EndpointHealth
  /// The device by its identifier and its public key.
  let device: Device
  /// The device's secret key, which signs proofs and reports.
  private let key: SigningKey
  private let time: ServerTime
  /// The consent to tell with grants; nil sends none.
  private let consent: Consent?
  /// The beginning of the manifest whose transfer was cut last; one is kept at a time.
  private let partial = PartialManifest()

  /// `time` is what requests are signed for, `consent` what the customer agreed to, nil where that stays as the server knows it.
  init(
    api: APIClient, consent: Consent? = nil, monitor: EndpointHealth, identity: DeviceIdentity,
    time: ServerTime
  ) {
    self.api = api
    self.consent = consent
    self.monitor = monitor
    var path = ServerPath(api: api, network: monitor.network)
    path.onEnd = { error in monitor.note(error, to: "GET /v1/content") }
    self.path = path
    device = Device(id: identity.identifier, publicKey: identity.key.verificationKey)
    key = identity.key
    self.time = time
  }

  /// Asks whether the server is there; for its health alone. The body must be `ok` and a line feed.
  func probe(timeout: Duration) async throws(APICallError) {
    var api = api
    api.timeout = timeout
    _ = try await monitor.observe("GET /healthz") { () async throws(APICallError) in
      let response = try await api.exchange("GET", "/healthz")
      // A log-in page answers anything.
      guard response.body == Array("ok\n".utf8) else {
        throw .unexpectedResponse(status: response.status, detail: "a page", isPage: true)
      }
    }
  }

  /// Returns those products of `names` that are for sale to the account and this device, with the texts that fit `locale`
  /// best.
  ///
  /// - Parameter subscribedSince: since when the account subscribes to them, for prices that were preserved
  ///   for it; nil for today's.
  func products(
    _ names: [String], for account: StoreAccount, locale: String?, subscribedSince: Timestamp? = nil
  ) async throws(APICallError) -> ProductsResponse {
    var query = names.map { ("id", $0) } + query(for: account)
    if let subscribedSince { query.append(("subscribedSince", subscribedSince.rfc3339)) }
    if let locale { query.append(("locale", locale)) }
    return try await monitor.observe("GET /v1/products") { () async throws(APICallError) in
      try await api.get("/v1/products", query: query)
    }
  }

  /// A page of one of the server's lists of what is for sale: `path` names it.
  ///
  /// - Parameters:
  ///   - path: `/v1/publications`, one of these, or `/v1/singles`.
  ///   - after: the `next` of the page before; nil for the first.
  func list<Value: Decodable & Sendable>(
    _ path: String, for account: StoreAccount, locale: String?, after: String?, limit: Int,
    as type: Value.Type
  ) async throws(APICallError) -> Value {
    var query = query(for: account) + [("limit", "\(limit)")]
    if let locale { query.append(("locale", locale)) }
    if let after { query.append(("after", after)) }
    return try await monitor.observe("GET /v1/publications") { () async throws(APICallError) in
      try await api.get(path, query: query)
    }
  }

  /// For whom it asks: what belongs to an application is shown to that one alone.
  func query(for account: StoreAccount) -> [(String, String)] {
    let query = [("territory", account.territory), ("device", device.id.description)]
    return query + (account.application.map { [("application", $0.description)] } ?? [])
  }

  /// Every product that `proof` entitles to, and which of `waiting` open nothing more. Its answer tells
  /// whether the server knows the store that proofs name (``EndpointHealth``).
  func entitlements(
    of proof: Proof, waiting: [TransactionIdentifier]? = nil
  ) async throws(APICallError) -> EntitlementsResponse {
    let body = EntitlementsRequest(proof: proof, device: device, waiting: waiting)
    return try await monitor.observe("POST /v1/entitlements") { () async throws(APICallError) in
      try await api.call("POST", "/v1/entitlements", body: body, as: EntitlementsResponse.self).value
    }
  }

  /// Returns the entries of the feed behind a cursor. If there are none, the server answers after `wait`. Its
  /// dates are translated to this device's clock by the `Date` of the answer, so that waiting times are right
  /// on a device whose clock is wrong. The timeout is 20 seconds longer than `wait`. While something else answers in the server's
  /// place it waits for no news: everything else waits for the end of a probe.
  ///
  /// - Parameter cursor: nil for the beginning.
  func feed(
    _ feed: FeedReference, after cursor: String?, wait: Duration
  ) async throws(APICallError) -> FeedResponse {
    let wait = monitor.network.isOpen ? wait : .zero
    var api = api
    api.timeout = wait + .seconds(20)
    let query =
      [("device", device.id.description), ("wait", "\(wait.components.seconds)")]
      + (cursor.map { [("after", $0)] } ?? [])
    let answer = try await monitor.observe("GET /v1/feed") { () async throws(APICallError) in
      try await api.call(
        "GET", feed.url, query: query, body: EmptyBody?.none,
        headers: [("Authorization", "Bearer \(feed.token)")], as: FeedResponse.self)
    }
    let date = Array((answer.head.headers["Date"] ?? "").utf8)
    guard let told = HTTPDate.parse(date.span) else { return answer.value }
    return answer.value.translated(from: told, to: time.own)
  }

  /// The license of the feed's customer for this device, by that name. What is answered here says nothing of the way to the server.
  func license(_ feed: FeedReference, serial: String) async throws(APICallError) -> LicenseResponse {
    var api = api
    api.timeout = .seconds(20)
    let own = "/v1/feed"
    let path = feed.url.hasSuffix(own) ? feed.url.dropLast(own.count) + "/v1/license" : "/v1/license"
    let key = key.verificationKey.text
    return try await api.call(
      "GET", path, query: [("device", device.id.description), ("key", key), ("serial", serial)],
      body: EmptyBody?.none,
      headers: [("Authorization", "Bearer \(feed.token)")], as: LicenseResponse.self
    ).value
  }

  /// Without a transaction the server chooses the one that pays. The request says what the customer agreed
  /// to, if the configuration does.
  func grant(
    _ product: ProductIdentifier, for transaction: TransactionIdentifier?, proof: Proof
  ) async throws(APICallError) -> GrantResponse {
    let body = GrantRequest(
      proof: proof, product: product, device: device, transaction: transaction, consent: consent)
    return try await monitor.observe("POST /v1/grants") { () async throws(APICallError) in
      try await api.call("POST", "/v1/grants", body: body, as: GrantResponse.self).value
    }
  }

  /// How the grant stands at the server; signed.
  func status(of grant: GrantIdentifier) async throws(APICallError) -> GrantStatus {
    try await signed("GET", "/v1/grants/\(grant)", as: GrantStatus.self)
  }

  /// A ticket in place of one that has ended; signed. No receipt is needed.
  func renewTicket(of grant: GrantIdentifier) async throws(APICallError) -> TicketResponse {
    try await signed("POST", "/v1/grants/\(grant)/tickets", as: TicketResponse.self)
  }

  /// The manifest's bytes, with the digest that the grant names. A large one may take its time: it is given up
  /// when it stalls, and what came of it is gone on with by the next call. Bytes that are others are asked for once more, over a
  /// connection of their own. Throws ``StepFailure``.
  func manifest(_ terms: DownloadTerms) async throws(StepFailure) -> UnverifiedManifest {
    for isFresh in [false, true] {
      let body: [UInt8]
      do {
        body = try await manifestBody(terms, fresh: isFresh)
      } catch {
        throw StepFailure(error, from: .server)
      }
      if SHA256Digest.of(body) == terms.manifestDigest { return UnverifiedManifest(body) }
    }
    throw .retry(.integrity, cause: "the manifest came damaged twice")
  }

  /// Asks for the rest where a beginning is known, with `If-Range` (RFC 9110 section 13.1.5), so that other
  /// bytes come whole. It is given up when it is slower than the server's recent speed allows for a minute.
  ///
  /// - Parameter fresh: whether a connection of its own is used, and nothing that is known.
  private func manifestBody(_ terms: DownloadTerms, fresh: Bool) async throws(APICallError) -> [UInt8] {
    var api = api
    api.timeout = nil
    api.lowSpeed = ClientRequest.LowSpeedLimit(
      bytesPerSecond: path.speeds.floor(under: nil), duration: SpeedHistory.stallAfter)
    api.maximumResponseLength = PackageLimits.standard.maximumManifestLength
    api.usesFreshConnections = fresh
    return try await monitor.observe("GET /v1/content/manifest") { () async throws(APICallError) in
      let known = fresh ? [] : partial.remove(of: terms.manifestDigest)
      var headers = [("Authorization", "Bearer \(terms.ticket)")]
      if !known.isEmpty {
        headers.append(("Range", "bytes=\(known.count)-"))
        headers.append(("If-Range", "\"\(terms.manifestDigest.hexadecimal)\""))
      }
      let receiver = ManifestReceiver(
        known: known, limit: Int(PackageLimits.standard.maximumManifestLength.rawValue))
      let head: ResponseHead
      do throws(APICallError) {
        head = try await api.stream(terms.manifestURL, headers: headers, to: receiver)
      } catch {
        guard case .unreachable(let loss) = error else { throw error }
        switch loss.code {
        case .connectionLost, .timedOut:
          if !APIClient.isPage(receiver.bytes) { partial.keep(receiver.bytes, of: terms.manifestDigest) }
        case .stopped:
          throw .unexpectedResponse(status: 206, detail: "a manifest that is longer than any may be")
        default: break
        }
        throw error
      }
      let body = receiver.bytes
      guard !APIClient.isPage(body) else {
        throw .unexpectedResponse(
          status: head.status, detail: String(decoding: body.prefix(200), as: UTF8.self), isPage: true)
      }
      return body
    }
  }

  /// Reports "verified and placed", signed with the device's key. The report is a JWS (RFC 7515) that names
  /// grant and device.
  func complete(
    _ grant: GrantIdentifier, terms: DownloadTerms, placedAt: Timestamp
  ) async throws -> CompletionResponse {
    let report = CompletionReport(
      digest: terms.digest, version: terms.version, length: terms.length, placedAt: placedAt, grant: grant,
      device: device.id)
    let signed = try JSONWebSignature(
      signing: try APIJSON.encode(report), with: key, keyIdentifier: device.id.description)
    return try await monitor.observe("POST /v1/grants/completion") { () async throws(APICallError) in
      try await api.call(
        "POST", "/v1/grants/\(grant.description)/completion", bytes: Array(signed.text.utf8),
        mediaType: "application/jose", as: CompletionResponse.self
      ).value
    }
  }

  /// Reports content that is not what its manifest says. The request is signed.
  func reportFailure(of grant: GrantIdentifier, terms: DownloadTerms) async throws(APICallError) {
    let report = VerificationFailure(digest: terms.digest, version: terms.version)
    _ = try await signed("POST", "/v1/grants/\(grant)/failure", body: report, as: CompletionResponse.self)
  }

  /// A request signed with the device's key. Where the server's clock is another, it is asked once more, by
  /// that clock.
  func signed<Value: Decodable & Sendable>(
    _ method: String, _ path: String, body: (some Encodable & Sendable)? = EmptyBody?.none,
    as type: Value.Type
  ) async throws(APICallError) -> Value {
    do {
      return try await attempt(method, path, body: body, as: type)
    } catch {
      guard case .problem(let problem) = error, problem.code == .clockSkew, let now = problem.serverTime
      else { throw error }
      await time.correct(to: now)
      return try await attempt(method, path, body: body, as: type)
    }
  }

  /// The proof says method, path and time. The health counts it under the last part of the path, without the
  /// grant.
  private func attempt<Value: Decodable & Sendable>(
    _ method: String, _ path: String, body: (some Encodable & Sendable)?, as type: Value.Type
  ) async throws(APICallError) -> Value {
    let proof = DeviceProof(method: method, path: path, iat: time.now.secondsSinceEpoch)
    let authorization: String
    do {
      let signed = try JSONWebSignature(
        signing: try APIJSON.encode(proof), with: key, keyIdentifier: device.id.description)
      authorization = "\(DeviceProof.scheme) \(signed.text)"
    } catch {
      throw .unexpectedResponse(status: 0, detail: "the request cannot be signed: \(error)")
    }
    // What a grant's own routes answer says nothing of proofs, which `POST /v1/grants` takes.
    let route = path.split(separator: "/").dropFirst(3).last.map { "/v1/grants/\($0)" } ?? "/v1/grants"
    return try await monitor.observe("\(method) \(route)") { () async throws(APICallError) in
      try await api.call(
        method, path, body: body, headers: [("Authorization", authorization)], as: type
      ).value
    }
  }
}
