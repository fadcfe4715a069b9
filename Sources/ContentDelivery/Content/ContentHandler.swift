package import CoreTypes
import Crypto
package import HTTPParsing
package import HTTPServer

/// Answers `GET` and `HEAD /v1/content/{digest}` on the loop that read the request: ticket, preconditions, range,
/// limits, head, and the descriptor handed to the kernel. Each loop has its own copy with a ``TicketCache``, so a
/// request whose ticket the loop knows needs no database, no lock and no allocation.
///
/// A request without a ticket that opens the package is refused on the loop as well, from a ``PreparedRefusal``.
///
/// A request that cannot be answered at once is deferred to ``ContentRoutes``, which answers the same, slower: refusals
/// that name a time, packages that are not open or of which the first byte to send is not there yet, several ranges, digests on
/// request, and what a proxy sends. Both render one ``RangeDecision``, and refuse by one ``ContentRefusal``.
///
///     let handler = ContentHandler(
///       packages: packages, verifier: verifier, meters: meters, timer: SystemMonotonicClock(),
///       metrics: InlineMetrics(of: ContentRoutes.pattern, includedIn: routeMetrics))
///     let server = HTTPServer(configuration: configuration, inline: handler, handler: router)
package struct ContentHandler: InlineHandler {
  private static let pathLength = 12 + 64

  package let packages: OpenPackageCache
  package let verifier: TicketVerifier
  package let meters: MeterRegistry
  package let timer: any MonotonicClock
  package let metrics: InlineMetrics
  private let tickets = TicketCache()
  private let ownMetrics: InlineMetrics.Loop

  package init(
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

  /// Every loop has a copy with tickets and counts of its own, so that a request takes no lock.
  package func copyForLoop() -> ContentHandler {
    ContentHandler(packages: packages, verifier: verifier, meters: meters, timer: timer, metrics: metrics)
  }

  package func makeConnectionState() -> VerifiedTicket { VerifiedTicket() }

  /// Forgets the connection's ticket, which keeps its package open.
  package func releaseFiles(of state: inout VerifiedTicket) { state = VerifiedTicket() }

  package func releaseFiles() { tickets.removeAll() }

  /// Answers on the loop, without waiting. Defers every request that needs another process, a file that is not
  /// open, or a spelling that is read slowly.
  package func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout VerifiedTicket,
    response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.method == .get || head.method == .head, head.path.count == Self.pathLength,
      bytes.hasPrefix("/v1/content/", at: head.path.lowerBound)
    else { return .deferToAsync }
    let credential = Self.credential(in: head, bytes)
    if credential == .unread { return .deferToAsync }
    let name = bytes.extracting(head.path.lowerBound + 12..<head.path.upperBound)
    // Moved out and back again, here and below: where it is only looked at, each look counts a reference twice.
    let last = state.package.take()
    let named = Self.digest(name, last: last)
    state.package = last
    guard let digest = named, case .ticket(let ticketRange) = credential else {
      let isRead = if case .ticket(let range) = credential { bytes.extracting(range).isPlain } else { true }
      guard isRead, name.isPlain else { return .deferToAsync }
      return refuse(
        named == nil ? .contentUnknown : .ticketMissing, head: head, bytes: bytes, response: &response)
    }
    let ticket = bytes.extracting(ticketRange)
    switch verify(ticket, for: digest, state: &state) {
    case .opens: break
    case .opensNothing(let refusal):
      guard ticket.isPlain else { return .deferToAsync }
      return refuse(refusal, head: head, bytes: bytes, response: &response)
    case .unknown: return .deferToAsync
    }
    guard let package = state.package.take(), let meter = state.meter.take() else { return .deferToAsync }
    defer {
      state.package = package
      state.meter = meter
    }
    guard !head.wantsDigests(bytes) else { return .deferToAsync }
    if verifier.settings.dependsOnProxies, isLeftToProxy(head: head, bytes: bytes, response: &response) {
      return .deferToAsync
    }

    let decision = RangeDecision(on: head, bytes: bytes, for: package)
    if case .parts = decision { return .deferToAsync }
    if package.file.presence != nil, head.method == .get, let range = decision.firstRange(of: package.length),
      !package.file.isThere(range.lowerBound)
    {
      return .deferToAsync
    }
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
    if verifier.settings.allowsOrigins { response.append(origins, head: head, bytes: bytes) }
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

  /// Only for names and tickets that are plain: off the loops, where escapes are decoded, others may spell something else.
  private func refuse(
    _ refusal: ContentRefusal, head: borrowing RequestHead, bytes: Span<UInt8>,
    response: inout InlineResponse
  ) -> InlineOutcome {
    if verifier.settings.dependsOnProxies {
      let settings = tickets.settings(of: verifier.settings, generation: verifier.generation)
      if settings.proxies.contains(response.peer) {
        noteClient(by: settings.proxies, head: head, bytes: bytes, response: &response)
      }
    }
    let prepared = PreparedRefusal.prepared(refusal)
    response.start(prepared.status)
    response.append(lines: prepared.lines.span)
    response.appendRequestIdentifier(name: "X-Request-Id")
    if verifier.settings.allowsOrigins { response.append(origins, head: head, bytes: bytes) }
    response.finish(
      bytes: prepared.beforeIdentifier.span, requestIdentifierThen: prepared.afterIdentifier.span)
    ownMetrics.count(refusal)
    return .answered
  }

  /// Whether a proxy may be told to send the body, which ``ContentRoutes`` decides. Otherwise notes the client that a
  /// trusted proxy named.
  private func isLeftToProxy(
    head: borrowing RequestHead, bytes: Span<UInt8>, response: inout InlineResponse
  ) -> Bool {
    let settings = tickets.settings(of: verifier.settings, generation: verifier.generation)
    guard settings.proxies.contains(response.peer) else { return false }
    if settings.accelRedirect != nil { return true }
    noteClient(by: settings.proxies, head: head, bytes: bytes, response: &response)
    return false
  }

  /// Notes the client that a trusted proxy names.
  private func noteClient(
    by proxies: TrustedProxies, head: borrowing RequestHead, bytes: Span<UInt8>,
    response: inout InlineResponse
  ) {
    response.client = proxies.client(of: response.peer, head: head, bytes: bytes)
  }

  private var origins: CrossOriginPolicy {
    tickets.settings(of: verifier.settings, generation: verifier.generation).origins
  }

  private enum Verification {
    /// The connection's ticket is this one, with its package and its meter.
    case opens
    case opensNothing(ContentRefusal)
    /// The package is not open, or is damaged.
    case unknown
  }

  /// Whether the ticket opens that package now. A ticket that the connection or the loop knows is compared, not computed
  /// again.
  private func verify(
    _ text: Span<UInt8>, for digest: SHA256Digest, state: inout VerifiedTicket
  ) -> Verification {
    let now = verifier.now
    let generation = verifier.generation
    if state.covers(text, for: digest, now: now, generation: generation) { return .opens }
    if let known = tickets.ticket(text, for: digest, now: now, generation: generation) {
      state = known
      return .opens
    }
    let settings = tickets.settings(of: verifier.settings, generation: generation)
    let ticket: Ticket
    do {
      ticket = try settings.keys.open(text, for: digest, now: now)
    } catch {
      return .opensNothing(ContentRefusal(error))
    }
    if let reason = verifier.revocations.reason(for: ticket.handle, content: digest) {
      guard let refusal = ContentRefusal(reason) else { return .unknown }
      return .opensNothing(refusal)
    }
    guard let package = packages.opened(digest) else { return .unknown }
    for index in 0..<Ticket.textLength { state.ticket[index] = text[index] }
    state.expiry = ticket.expiry
    state.generation = generation
    state.package = package
    state.meter = meters.meter(for: ticket.handle, device: ticket.device, content: digest)
    state.limits = settings.classes.limits(of: ticket.rateClass)
    tickets.remember(state, for: text)
    return .opens
  }

  /// The digest that the name spells; that of the package sent last is compared, not read again.
  private static func digest(_ name: Span<UInt8>, last: OpenPackage?) -> SHA256Digest? {
    if let last, last.isNamed(name) { return last.digest }
    return SHA256Digest(hexadecimal: name)
  }

  private enum Credential: Equatable {
    /// The request has neither a query nor an `Authorization`.
    case none
    /// The range of the bytes in the place of a ticket. They are not checked yet.
    case ticket(Range<Int>)
    /// Another spelling, which need not be wrong, only slower to read.
    case unread
  }

  /// `?ticket=…` as the only parameter, or `Authorization: Bearer …` once.
  private static func credential(in head: borrowing RequestHead, _ bytes: Span<UInt8>) -> Credential {
    if let query = head.query {
      guard bytes.hasPrefix("ticket=", at: query.lowerBound), query.count >= 7 else { return .unread }
      return .ticket(query.lowerBound + 7..<query.upperBound)
    }
    guard let value = head.value(of: .authorization) else { return .none }
    guard !head.isRepeated(.authorization), bytes.hasPrefix("Bearer ", at: value.lowerBound),
      value.count > 7
    else { return .unread }
    return .ticket(value.lowerBound + 7..<value.upperBound)
  }
}

extension Span<UInt8> {
  /// Whether every byte is one of base64url, which stands for itself in a path, a query and a field.
  fileprivate var isPlain: Bool {
    for index in indices {
      switch self[index] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        continue
      default: return false
      }
    }
    return true
  }
}
