import Crypto
import HTTPServer
import CoreTypes

/// Answers `GET` and `HEAD /v1/content/{digest}` on the loop that read the request: ticket, preconditions, range, limits,
/// head, and the descriptor handed to the kernel. No database, no lock and no allocation for tickets that the loop knows;
/// everything it cannot answer at once is passed on to ``ContentRoutes``.
struct ContentHandler: InlineHandler {
  /// A ticket that was let in, and what its next request needs. Empty to begin with.
  struct VerifiedTicket {
    var ticket = InlineArray<72, UInt8>(repeating: 0)
    /// Seconds since the epoch.
    var expiry: UInt64 = 0
    /// The ``TicketVerifier/changes`` it was checked under.
    var changes: UInt64 = 0
    var entry: OpenPackage?
    var meter: GrantMeter?
    var limits = RateLimits.none

    @inline(__always)
    func covers(_ text: Span<UInt8>, _ digest: SHA256Digest, now: UInt64, changes: UInt64) -> Bool {
      guard self.changes == changes, now < expiry, let entry, entry.digest == digest else { return false }
      return equalInConstantTime(text, ticket.span)
    }
  }

  private static let pathLength = 12 + 64

  let content: OpenPackageCache
  let access: TicketVerifier
  let meters: MeterRegistry
  let timer: any MonotonicClock
  let counts: InlineMetrics
  private let memory = TicketCache()
  private let own: InlineMetrics.Loop

  init(
    content: OpenPackageCache, access: TicketVerifier, meters: MeterRegistry, timer: any MonotonicClock,
    counts: InlineMetrics
  ) {
    self.content = content
    self.access = access
    self.meters = meters
    self.timer = timer
    self.counts = counts
    own = counts.makeLoop()
  }

  func copyForLoop() -> ContentHandler {
    ContentHandler(content: content, access: access, meters: meters, timer: timer, counts: counts)
  }

  func makeConnectionState() -> VerifiedTicket { VerifiedTicket() }

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout VerifiedTicket,
    response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.method == .get || head.method == .head, head.path.count == Self.pathLength,
      bytes.hasPrefix("/v1/content/", at: head.path.lowerBound),
      let ticketRange = Self.ticket(in: head, bytes), !head.wantsDigests(bytes)
    else { return .passOn }
    if access.settings.dependsOnProxies, isForProxies(head, bytes, &response) { return .passOn }
    let name = bytes.extracting(head.path.lowerBound + 12..<head.path.upperBound)
    guard let digest = Self.digest(name, state.entry) else { return .passOn }
    let ticket = bytes.extracting(ticketRange)
    guard admit(ticket, to: digest, &state), let entry = state.entry, let meter = state.meter else {
      return .passOn
    }

    let range = RangeSet.requested(head: head, bytes: bytes, length: entry.length)
    let answer = RangeDecision(Self.verdict(head, bytes, entry), range)
    switch answer {
    case .whole:
      guard begin(entry.length, meter, state.limits, &response) else { return .passOn }
      start(.ok, entry, &response)
      response.finish(file: entry.file, range: 0..<entry.length, meter: meter)
    case .part(let range):
      guard begin(range.upperBound - range.lowerBound, meter, state.limits, &response) else { return .passOn }
      start(.partialContent, entry, &response)
      response.appendContentRange(range, of: entry.length)
      response.finish(file: entry.file, range: range, meter: meter)
    case .unsatisfiable:
      refuse(.rangeNotSatisfiable, entry, &response)
      response.appendUnsatisfiedContentRange(of: entry.length)
      response.finish()
    case .notModified:
      start(.notModified, entry, &response)
      response.finish()
    case .preconditionFailed:
      refuse(.preconditionFailed, entry, &response)
      response.finish()
    case .parts:
      return .passOn
    }
    own.add(answer)
    return .answered
  }

  /// What the conditional fields say; nearly every request has none.
  @inline(__always)
  private static func verdict(
    _ head: borrowing RequestHead, _ bytes: Span<UInt8>, _ entry: OpenPackage
  ) -> Preconditions.Verdict {
    guard head.hasConditions else { return .proceed }
    let tag = entry.entityTagBytes
    return Preconditions(head: head, bytes: bytes, entityTag: tag.span).verdict
  }

  /// Whether a proxy may be told to send the body, which ``ContentRoutes`` decides. Else notes who asked.
  private func isForProxies(
    _ head: borrowing RequestHead, _ bytes: Span<UInt8>, _ response: inout InlineResponse
  ) -> Bool {
    let settings = memory.settings(of: access.settings, changes: access.changes)
    guard settings.proxies.contains(response.peer) else { return false }
    if settings.handOff != nil { return true }
    let fields = ForwardingFields(
      forwarded: head.values(of: "forwarded", bytes), for: head.values(of: "x-forwarded-for", bytes))
    response.client = settings.proxies.origin(of: response.peer, fields).client
    return false
  }

  private func start(_ status: HTTPStatus, _ entry: OpenPackage, _ response: inout InlineResponse) {
    response.start(status)
    let lines = status == .ok || status == .partialContent ? entry.contentLines : entry.commonLines
    response.append(lines: lines.span)
  }

  private func refuse(_ status: HTTPStatus, _ entry: OpenPackage, _ response: inout InlineResponse) {
    response.start(status)
    let lines = entry.refusalLines
    response.append(lines: lines.span)
  }

  /// Whether the limits allow another body now, of that length; if so, paces it.
  private func begin(
    _ length: Int64, _ meter: GrantMeter, _ limits: RateLimits, _ response: inout InlineResponse
  ) -> Bool {
    guard meter.delay(under: limits, now: { timer.now().nanoseconds }) == 0 else { return false }
    if let pace = meter.pace(under: limits, length: length, now: { timer.now().nanoseconds }) {
      response.pace(bytesPerSecond: pace)
    }
    return true
  }

  /// Whether the ticket opens that content now. One that the connection or the loop knows is compared, not computed again.
  private func admit(_ text: Span<UInt8>, to digest: SHA256Digest, _ state: inout VerifiedTicket) -> Bool {
    let now = access.now
    let changes = access.changes
    if state.covers(text, digest, now: now, changes: changes) { return true }
    if let known = memory.admission(for: text), known.covers(text, digest, now: now, changes: changes) {
      state = known
      return true
    }
    let settings = memory.settings(of: access.settings, changes: changes)
    guard let entry = content.opened(digest),
      let ticket = try? settings.keys.open(text, for: digest, now: now),
      access.stops.reason(ticket.grant, digest) == nil
    else { return false }
    for index in 0..<Ticket.textLength { state.ticket[index] = text[index] }
    state.expiry = ticket.expiry
    state.changes = changes
    state.entry = entry
    state.meter = meters.meter(for: ticket.grant, device: ticket.device, content: digest)
    state.limits = settings.classes.limits(of: ticket.rateClass)
    memory.remember(state, for: text)
    return true
  }

  /// The digest of that name; that of the entry sent last is compared, not read again.
  private static func digest(_ name: Span<UInt8>, _ last: OpenPackage?) -> SHA256Digest? {
    if let last, last.isNamed(name) { return last.digest }
    return SHA256Digest(hexadecimal: name)
  }

  /// Where the ticket stands: `?ticket=…` as the only parameter, or `Authorization: Bearer …` once. Nil for everything
  /// else, which need not be wrong, only slower to read.
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
  /// Whether the ASCII bytes of `prefix` stand at `offset`; with 0x20 as `mask`, whatever their case.
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
  /// The values of a field that the engine does not know, whose name is given in lower case.
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
