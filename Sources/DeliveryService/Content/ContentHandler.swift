import CoreTypes
import Crypto
import HTTPServer

/// Answers `GET` and `HEAD /v1/content/{digest}` on the loop that read the request: ticket, preconditions, range,
/// limits, head, and the descriptor handed to the kernel. Each loop has its own copy with a ``TicketCache``, so a
/// request whose ticket the loop knows needs no database, no lock and no allocation.
///
/// A request that cannot be answered at once is deferred to ``ContentRoutes``, which answers the same, slower: refusals
/// with their documents, packages that are not open, several ranges, digests on request, and what a proxy sends. Both
/// render one ``RangeDecision``.
///
///     let handler = ContentHandler(
///       packages: packages, verifier: verifier, meters: meters, timer: SystemMonotonicClock(),
///       metrics: InlineMetrics(includedIn: routeMetrics))
///     let server = HTTPServer(configuration: configuration, inline: handler, handler: router)
struct ContentHandler: InlineHandler {
  private static let pathLength = 12 + 64

  let packages: OpenPackageCache
  let verifier: TicketVerifier
  let meters: MeterRegistry
  let timer: any MonotonicClock
  let metrics: InlineMetrics
  private let tickets = TicketCache()
  private let ownMetrics: InlineMetrics.Loop

  init(
    packages: OpenPackageCache, verifier: TicketVerifier, meters: MeterRegistry, timer: any MonotonicClock,
    metrics: InlineMetrics
  ) {
    self.packages = packages
    self.verifier = verifier
    self.meters = meters
    self.timer = timer
    self.metrics = metrics
    ownMetrics = metrics.makeLoop()
  }

  func copyForLoop() -> ContentHandler {
    ContentHandler(packages: packages, verifier: verifier, meters: meters, timer: timer, metrics: metrics)
  }

  func makeConnectionState() -> VerifiedTicket { VerifiedTicket() }

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout VerifiedTicket,
    response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.method == .get || head.method == .head, head.path.count == Self.pathLength,
      bytes.hasPrefix("/v1/content/", at: head.path.lowerBound),
      let ticketRange = Self.ticket(in: head, bytes), !head.wantsDigests(bytes)
    else { return .deferToAsync }
    if verifier.settings.dependsOnProxies, isLeftToProxy(head: head, bytes: bytes, response: &response) {
      return .deferToAsync
    }
    let name = bytes.extracting(head.path.lowerBound + 12..<head.path.upperBound)
    guard let digest = Self.digest(name, last: state.package) else { return .deferToAsync }
    let ticket = bytes.extracting(ticketRange)
    guard verify(ticket, for: digest, state: &state), let package = state.package, let meter = state.meter
    else {
      return .deferToAsync
    }

    let range = RangeSet.requested(head: head, bytes: bytes, length: package.length)
    let decision = RangeDecision(Self.verdict(head: head, bytes: bytes, package: package), range)
    if case .parts = decision { return .deferToAsync }
    switch decision.admission(
      of: package.length, to: meter, under: state.limits, now: { timer.now().nanoseconds })
    {
    case .begin(let bytesPerSecond):
      if let bytesPerSecond { response.pace(bytesPerSecond: bytesPerSecond) }
    case .wait:
      return .deferToAsync
    }
    response.start(decision.status)
    let lines = package.lines(decision.fields)
    response.append(lines: lines.span)
    if verifier.settings.allowsOrigins { appendOriginFields(head: head, bytes: bytes, response: &response) }
    switch decision {
    case .whole:
      response.finish(file: package.file, range: 0..<package.length, meter: meter)
    case .part(let range):
      response.appendContentRange(range, of: package.length)
      response.finish(file: package.file, range: range, meter: meter)
    case .unsatisfiable:
      response.appendUnsatisfiedContentRange(of: package.length)
      response.finish()
    case .notModified, .preconditionFailed, .parts:
      response.finish()
    }
    ownMetrics.count(decision)
    return .answered
  }

  /// The verdict of the conditional fields; nearly every request has none.
  @inline(__always)
  private static func verdict(
    head: borrowing RequestHead, bytes: Span<UInt8>, package: OpenPackage
  ) -> Preconditions.Verdict {
    guard head.hasConditions else { return .proceed }
    let tag = package.entityTagBytes
    return Preconditions(head: head, bytes: bytes, entityTag: tag.span).verdict
  }

  /// Whether a proxy may be told to send the body, which ``ContentRoutes`` decides. Otherwise notes the client that a
  /// trusted proxy named.
  private func isLeftToProxy(
    head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> Bool {
    let settings = tickets.settings(of: verifier.settings, generation: verifier.generation)
    guard settings.proxies.contains(response.peer) else { return false }
    if settings.accelRedirect != nil { return true }
    let fields = ForwardingFields(
      forwarded: head.values(of: "forwarded", bytes), for: head.values(of: "x-forwarded-for", bytes))
    response.client = settings.proxies.origin(of: response.peer, fields).client
    return false
  }

  /// Adds what the browser needs whose page asks.
  private func appendOriginFields(
    head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) {
    let policy = tickets.settings(of: verifier.settings, generation: verifier.generation).origins
    let origin = head.values(of: "origin", bytes).first
    // An origin is written only if it is one of those that were configured.
    let lines = Array(policy.fields(for: origin).map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
    response.append(lines: lines.span)
  }

  /// Whether the ticket opens that package now. A ticket that the connection or the loop knows is compared, not computed
  /// again.
  private func verify(_ text: Span<UInt8>, for digest: SHA256Digest, state: inout VerifiedTicket) -> Bool {
    let now = verifier.now
    let generation = verifier.generation
    if state.covers(text, for: digest, now: now, generation: generation) { return true }
    if let known = tickets.ticket(text, for: digest, now: now, generation: generation) {
      state = known
      return true
    }
    let settings = tickets.settings(of: verifier.settings, generation: generation)
    guard let package = packages.opened(digest),
      let ticket = try? settings.keys.open(text, for: digest, now: now),
      verifier.revocations.reason(for: ticket.handle, content: digest) == nil
    else { return false }
    for index in 0..<Ticket.textLength { state.ticket[index] = text[index] }
    state.expiry = ticket.expiry
    state.generation = generation
    state.package = package
    state.meter = meters.meter(for: ticket.handle, device: ticket.device, content: digest)
    state.limits = settings.classes.limits(of: ticket.rateClass)
    tickets.remember(state, for: text)
    return true
  }

  /// The digest that the name spells; that of the package sent last is compared, not read again.
  private static func digest(_ name: Span<UInt8>, last: OpenPackage?) -> SHA256Digest? {
    if let last, last.isNamed(name) { return last.digest }
    return SHA256Digest(hexadecimal: name)
  }

  /// The place of the ticket: `?ticket=…` as the only parameter, or `Authorization: Bearer …` once. Nil for every other
  /// spelling, which need not be wrong, only slower to read.
  private static func ticket(in head: borrowing RequestHead, _ bytes: Span<UInt8>) -> Range<Int>? {
    if let query = head.query {
      let start = query.lowerBound + 7
      guard query.upperBound - start == Ticket.textLength, bytes.hasPrefix("ticket=", at: query.lowerBound)
      else { return nil }
      return start..<query.upperBound
    }
    guard let value = head.value(of: .authorization), !head.isRepeated(.authorization) else { return nil }
    let start = value.lowerBound + 7
    guard value.upperBound - start == Ticket.textLength,
      bytes.hasPrefix("Bearer ", at: value.lowerBound)
    else { return nil }
    return start..<value.upperBound
  }
}

extension Span<UInt8> {
  /// Whether the ASCII bytes of `prefix` stand at `offset`; with 0x20 as `mask`, in any case.
  @inline(__always)
  fileprivate func hasPrefix(_ prefix: StaticString, at offset: Int, mask: UInt8 = 0) -> Bool {
    guard offset + prefix.utf8CodeUnitCount <= count else { return false }
    return prefix.withUTF8Buffer { expected in
      let found = extracting(offset..<offset + expected.count)
      var difference: UInt8 = 0
      for index in found.indices { difference |= unsafe expected[index] ^ (found[index] | mask) }
      return difference == 0
    }
  }
}

extension RequestHead {
  /// The values of a field that the engine does not index. The name is given in lower case.
  fileprivate func values(of name: StaticString, _ bytes: Span<UInt8>) -> [String] {
    var values: [String] = []
    for index in 0..<fieldCount {
      let field = field(at: index)
      guard field.name.count == name.utf8CodeUnitCount,
        bytes.hasPrefix(name, at: field.name.lowerBound, mask: 0x20)
      else { continue }
      values.append(String(decoding: field.value.map { bytes[$0] }, as: UTF8.self))
    }
    return values
  }
}
