internal import CoreTypes
internal import SystemCalls

/// Pages of the files that are sent: whether they are in memory, and what a response does until they are.
extension ClientConnection {
  /// Nanoseconds for which fetched pages count as being in memory.
  private static let pageLifetime: UInt64 = 1_000_000_000

  /// Whether the range can be sent without waiting for a device; otherwise its pages are on their way. What was just
  /// fetched is sent without another look from where the response waited for it: where memory is so short that it is gone
  /// again, a look would fetch it again, and for ever.
  mutating func mayRead(
    _ file: SharedDescriptor, range: Range<Int64>, with services: inout LoopServices
  ) -> Bool {
    let isFetched = output.fetchedEnd >= range.upperBound
    let isAwaited = range.lowerBound == output.fetchedStart
    if isFetched && (isAwaited || services.now < output.fetchedDue)
      || services.isInPageCache(file, range: range)
    {
      if isAwaited { output.fetchedStart = -1 }
      readAhead(file, with: services)
      return true
    }
    output.isFetching = true
    output.fetchedStart = range.lowerBound
    if isReadingAhead, output.ahead.contains(range.lowerBound) {
      // It is on its way, and must not wait behind what others ask for from now on.
      services.context.pages.expedite(tag, of: services.mailbox)
      output.fetchedEnd = output.ahead.upperBound
      return false
    }
    let end = min(output.fileEnd, range.lowerBound + services.windowLength)
    output.fetchedEnd = end
    output.ahead = end..<end
    fetch(file, range: range.lowerBound..<end, isAhead: false, with: services)
    return false
  }

  /// Has the part behind what was fetched read, where the response is near enough to its end.
  private mutating func readAhead(_ file: SharedDescriptor, with services: borrowing LoopServices) {
    let start = output.ahead.upperBound
    guard start > 0, !isReadingAhead, start - output.fileOffset <= services.windowLength,
      start < output.fileEnd
    else { return }
    let range = start..<min(output.fileEnd, start + services.windowLength)
    output.ahead = range
    isReadingAhead = true
    fetch(file, range: range, isAhead: true, with: services)
  }

  private func fetch(
    _ file: SharedDescriptor, range: Range<Int64>, isAhead: Bool, with services: borrowing LoopServices
  ) {
    services.context.pages.fetch(
      PagePrefetcher.Job(file: file, range: range, tag: tag, mailbox: services.mailbox, isAhead: isAhead))
  }

  /// The pages that the response waits for are there.
  mutating func didFetch(at now: UInt64) {
    output.isFetching = false
    output.fetchedDue = now + Self.pageLifetime
    isTouched = true
  }

  /// Notes what was read ahead; true when the response has come so far meanwhile that it waits for it.
  mutating func didReadAhead(at now: UInt64, isThere: Bool) -> Bool {
    isReadingAhead = false
    // For a response before this one.
    guard !output.ahead.isEmpty else { return false }
    if output.isFetching, output.ahead.contains(output.fetchedStart) { return true }
    // What cannot be read will be asked for again when the response gets there.
    guard isThere, output.fetchedEnd == output.ahead.lowerBound else { return false }
    output.fetchedEnd = output.ahead.upperBound
    output.fetchedDue = now + Self.pageLifetime
    return false
  }
}

extension LoopServices {
  fileprivate mutating func isInPageCache(_ file: SharedDescriptor, range: Range<Int64>) -> Bool {
    let number = file.descriptor.number
    if pageCacheHints.holds(number, range: range, now: now) { return true }
    guard context.pages.cache.holds(file, range: range) else { return false }
    pageCacheHints.remember(number, range: range, now: now)
    return true
  }
}
