import Commerce
import CoreTypes
import Crypto
import Files
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery

/// One package with its two ways to clients: the handler of a loop, and the routes off the loops. There is no server around them, and no
/// database behind them.
struct ContentFixture {
  /// A source that has one package, whose file a test can take away.
  final class Source: PackageSource {
    let digest: SHA256Digest
    let path: String
    let manifest: [UInt8]
    let isMissing = Locked(false)
    /// Which bytes of the file are there, for the next time that it is opened; nil for all.
    let presence = Locked<(any FilePresence)?>(nil)
    /// The query by which a proxy reads the package, where it lies in a store.
    let query = Locked<String?>(nil)

    init(digest: SHA256Digest, path: String, manifest: [UInt8]) {
      self.digest = digest
      self.path = path
      self.manifest = manifest
    }

    func open(_ digest: SHA256Digest) async throws -> SharedDescriptor? {
      guard digest == self.digest, !isMissing.current else { return nil }
      return try SharedDescriptor(try FileDescriptor.open(path, .readOnly), presence: presence.current)
    }

    func manifest(of digest: SHA256Digest) async throws -> [UInt8]? {
      digest == self.digest ? manifest : nil
    }

    func manifest(of digest: SHA256Digest, promisedTo grant: DeliveryHandle) async throws -> [UInt8]? {
      digest == self.digest && grant == ContentFixture.handle ? manifest : nil
    }

    func readingQuery(of digest: SHA256Digest, seconds: Int) -> String? {
      query.current.map { "\($0)&seconds=\(seconds)" }
    }
  }

  /// Collects routes as a server does, without a look at their queries.
  struct Routes: PublicRoutes {
    var routes = APIRoutes()

    /// The handler of these routes, for which a failure that is no problem is one of the test.
    var router: Router { routes.router(reporting: { _, error in Issue.record(error) }) }

    mutating func `public`(
      _ method: HTTPMethod, _ pattern: String, query: Set<String>?, repeatable: Set<String>,
      use responder: @escaping APIRoutes.Responder
    ) {
      routes.on(method, pattern, use: responder)
    }
  }

  /// The grant of the tickets.
  static let handle = DeliveryHandle(high: 1, low: 2)
  static let mediaType = "application/pdf"
  /// How long a ticket is valid.
  static let lifetime: Duration = .seconds(900)

  let content: [UInt8]
  let digest: SHA256Digest
  let source: Source
  let clock = ManualWallClock()
  let timer = ManualMonotonicClock()
  let settings: LiveSettings
  let revocations: RevocationList
  let meters: MeterRegistry
  let handler: ContentHandler
  let metrics = RouteMetrics()
  /// Packages whose bytes the routes found missing.
  let missed = Locked<[SHA256Digest]>([])
  private let key: TicketKeys.Key
  private let router: Router
  private let directory: TemporaryDirectory

  /// 10,000 bytes, no two ranges of which are alike.
  static let standard = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  /// `isDamage` is what the fixture answers to the routes that found the bytes missing.
  init(
    _ content: [UInt8] = Self.standard, limits: RateLimits = .none,
    proxies: TrustedProxies = TrustedProxies(),
    accelRedirect: AccelRedirect? = nil, origins: CrossOriginPolicy = .none, publicURL: String = "",
    isDamage: Bool = true
  ) throws {
    self.content = content
    let digest = SHA256Digest.of(content)
    self.digest = digest
    directory = try TemporaryDirectory()
    let path = directory.path("package")
    try DurableFile.write(content.span, to: path)
    source = Source(digest: digest, path: path, manifest: Self.manifest(of: content))
    let key = TicketKeys.Key(
      identifier: 7, secret: MessageAuthenticationKey(secret: [UInt8](repeating: 2, count: 32)))
    self.key = key
    guard let keys = TicketKeys([key]) else { throw NoKey() }
    let generation = Generation()
    settings = LiveSettings(
      DeliverySettings(
        keys: keys, ticketLifetime: Self.lifetime, classes: RateClasses(standard: limits), proxies: proxies,
        accelRedirect: accelRedirect, origins: origins), generation: generation)
    meters = MeterRegistry(timer: timer)
    revocations = RevocationList(meters: meters, generation: generation)
    let packages = OpenPackageCache(source: source)
    let verifier = TicketVerifier(settings: settings, revocations: revocations, clock: clock)
    handler = ContentHandler(
      packages: packages, verifier: verifier, meters: meters, timer: timer,
      metrics: InlineMetrics(of: ContentRoutes.pattern, includedIn: metrics))
    let missed = missed
    var routes = Routes()
    ContentRoutes(
      packages: packages,
      noteMissing: { digest in
        missed.withLock { $0.append(digest) }
        return isDamage
      }, verifier: verifier, meters: meters, timer: timer, publicURL: publicURL
    ).add(to: &routes)
    router = routes.router
  }

  private struct NoKey: Error {}

  /// The manifest of a single file with that content, as docs/formats/manifest.md has it.
  static func manifest(of content: [UInt8]) -> [UInt8] {
    let digest = SHA256Digest.of(content)
    let pieces = stride(from: 0, to: content.count, by: 1 << 20).map { start in
      "\"\(SHA256Digest.of(content[start..<min(start + 1 << 20, content.count)]))\""
    }
    let text = """
      {"digest":"\(digest)","files":[{"digest":"\(digest)","length":\(content.count),"method":"stored",\
      "offset":0,"path":"issue.pdf","storedLength":\(content.count)}],"format":"pullbox-manifest/1",\
      "kind":"file","length":\(content.count),"mediaType":"\(mediaType)","name":"issue.pdf",\
      "pieceLength":1048576,"pieces":[\(pieces.joined(separator: ","))],"product":"com.example.issue1",\
      "unpackedLength":\(content.count),"version":"1.0"}
      """
    return Array(text.utf8)
  }

  /// The content's `ETag`.
  var tag: String { "\"\(digest)\"" }

  var path: String { "/v1/content/\(digest)" }

  /// A ticket that opens the content for ``lifetime`` from now on.
  var ticket: String { ticket(for: digest) }

  func ticket(for digest: SHA256Digest, handle: DeliveryHandle = Self.handle) -> String {
    let expiry = UInt64((clock.now() + Self.lifetime).secondsSinceEpoch)
    return Ticket(keyIdentifier: 7, expiry: expiry, handle: handle, device: 3)
      .sealed(with: key.secret, for: digest)
  }

  /// A request for the content with a ticket.
  func request(
    _ method: HTTPMethod = .get, _ fields: [(name: String, value: String)] = []
  ) -> ContentRequest {
    ContentRequest(method: method, target: "\(path)?ticket=\(ticket)", fields: fields)
  }

  /// The routes' response.
  func offLoop(_ request: ContentRequest) async throws -> ContentResponse {
    ContentResponse(
      await router.respond(to: try request.read()), to: request.method, content: content)
  }

  /// The response of a loop, which is nil where it leaves the request to the routes.
  func onLoop(_ request: ContentRequest) throws -> ContentResponse? {
    var state = handler.makeConnectionState()
    return try handler.response(to: request, state: &state, content: content)
  }

  /// Opens the package, as the first request for it does.
  func open() async throws {
    _ = try await offLoop(request(.head))
  }
}
