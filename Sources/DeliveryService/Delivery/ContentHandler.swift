import Digests
import HTTPServer

/// Answers `GET` and `HEAD /v1/content/{digest}` on the loop that read the request: ticket, preconditions, range, head,
/// and the descriptor handed to the kernel. No database, no lock and no allocation for the content and ticket that the
/// connection asked for last; everything it cannot answer at once is passed on to ``ContentRoutes``.
struct ContentHandler: InlineHandler {
  /// What a connection asked for last.
  struct Last {
    var ticket = InlineArray<72, UInt8>(repeating: 0)
    /// Seconds since the epoch; zero before the first request.
    var expiry: UInt64 = 0
    var entry: ContentEntry?
    var meter: DeliveryMeters.Meter?
  }

  private static let pathLength = 12 + 64

  let content: ContentLibrary
  let access: ContentAccess
  let meters: DeliveryMeters

  func makeConnectionState() -> Last { Last() }

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Last, response: inout InlineResponse
  ) -> InlineOutcome {
    guard head.method == .get || head.method == .head, head.path.count == Self.pathLength,
      bytes.hasPrefix("/v1/content/", at: head.path.lowerBound),
      let ticketRange = Self.ticket(in: head, bytes)
    else { return .passOn }
    let name = bytes.extracting(head.path.lowerBound + 12..<head.path.upperBound)
    guard let digest = SHA256Digest(hexadecimal: name) else { return .passOn }
    let ticket = bytes.extracting(ticketRange)
    guard admit(ticket, to: digest, &state), let entry = state.entry, let meter = state.meter else {
      return .passOn
    }

    let tag = entry.entityTagBytes
    let conditions = Preconditions(head: head, bytes: bytes, entityTag: tag.span)
    let range = RangeSet.requested(head: head, bytes: bytes, length: entry.length)
    switch ContentAnswer(conditions.verdict, range) {
    case .whole:
      start(.ok, entry, &response)
      response.finish(file: entry.file, range: 0..<entry.length, meter: meter)
    case .part(let range):
      start(.partialContent, entry, &response)
      response.appendContentRange(range, of: entry.length)
      response.finish(file: entry.file, range: range, meter: meter)
    case .unsatisfiable:
      start(.rangeNotSatisfiable, entry, &response)
      response.appendUnsatisfiedContentRange(of: entry.length)
      response.finish()
    case .notModified:
      start(.notModified, entry, &response)
      response.finish()
    case .preconditionFailed:
      start(.preconditionFailed, entry, &response)
      response.finish()
    case .parts:
      return .passOn
    }
    return .answered
  }

  private func start(_ status: HTTPStatus, _ entry: ContentEntry, _ response: inout InlineResponse) {
    response.start(status)
    let lines = entry.commonLines
    response.append(lines: lines.span)
    guard status == .ok || status == .partialContent else { return }
    let contentType = entry.contentTypeLine
    response.append(lines: contentType.span)
  }

  /// Whether the ticket opens that content now. The one that opened it last is compared, not computed again.
  private func admit(_ text: Span<UInt8>, to digest: SHA256Digest, _ state: inout Last) -> Bool {
    let now = access.now
    if now < state.expiry, let entry = state.entry, entry.digest == digest,
      equalInConstantTime(text, state.ticket.span)
    {
      return true
    }
    guard let entry = content.opened(digest),
      let ticket = try? access.keys.open(text, for: digest, now: now)
    else { return false }
    for index in 0..<Ticket.textLength { state.ticket[index] = text[index] }
    state.expiry = ticket.expiry
    state.entry = entry
    state.meter = meters.meter(for: ticket.grant)
    return true
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
  /// Whether the ASCII bytes of `prefix` stand at `offset`.
  @inline(__always)
  fileprivate func hasPrefix(_ prefix: StaticString, at offset: Int) -> Bool {
    guard offset + prefix.utf8CodeUnitCount <= count else { return false }
    return prefix.withUTF8Buffer { expected in
      for index in 0..<expected.count where unsafe expected[index] != self[offset + index] { return false }
      return true
    }
  }
}
