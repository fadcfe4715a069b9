internal import CLinux
internal import CoreTypes
internal import Glibc
internal import SystemCalls

/// Pages of the files that are sent: whether they are in memory, and what a response does until they are.
extension EventLoop {
  /// Nanoseconds for which fetched pages count as being in memory.
  private static let pageLifetime: UInt64 = 1_000_000_000

  /// Whether the range can be sent without waiting for a device; otherwise its pages are on their way. What was just
  /// fetched is sent without another look from where the response waited for it: where memory is so short that it is gone
  /// again, a look would fetch it again, and for ever.
  mutating func mayRead(_ index: Int, from file: SharedDescriptor, range: Range<Int64>) -> Bool {
    let isFetched = table[index].output.fetchedEnd >= range.upperBound
    let isAwaited = range.lowerBound == table[index].output.fetchedStart
    if isFetched && (isAwaited || now < table[index].output.fetchedDue) || isInPageCache(file, range: range) {
      if isAwaited { table[index].output.fetchedStart = -1 }
      readAhead(index, from: file)
      return true
    }
    table[index].output.isFetching = true
    table[index].output.fetchedStart = range.lowerBound
    let ahead = table[index].output.ahead
    if table[index].isReadingAhead, ahead.contains(range.lowerBound) {
      // It is on its way, and must not wait behind what others ask for from now on.
      context.pages.expedite(
        ConnectionTag(index: index, generation: table[index].generation), of: mailbox)
      table[index].output.fetchedEnd = ahead.upperBound
      return false
    }
    let end = min(table[index].output.fileEnd, range.lowerBound + windowLength)
    table[index].output.fetchedEnd = end
    table[index].output.ahead = end..<end
    fetch(index, from: file, range: range.lowerBound..<end, isAhead: false)
    return false
  }

  /// Has the part behind what was fetched read, where the response is near enough to its end.
  private mutating func readAhead(_ index: Int, from file: SharedDescriptor) {
    let start = table[index].output.ahead.upperBound
    guard start > 0, !table[index].isReadingAhead, start - table[index].output.fileOffset <= windowLength,
      start < table[index].output.fileEnd
    else { return }
    let range = start..<min(table[index].output.fileEnd, start + windowLength)
    table[index].output.ahead = range
    table[index].isReadingAhead = true
    fetch(index, from: file, range: range, isAhead: true)
  }

  private mutating func fetch(
    _ index: Int, from file: SharedDescriptor, range: Range<Int64>, isAhead: Bool
  ) {
    context.pages.fetch(
      PagePrefetcher.Job(
        file: file, range: range, tag: ConnectionTag(index: index, generation: table[index].generation),
        mailbox: mailbox, isAhead: isAhead))
  }

  /// Bytes that are fetched at once.
  private var windowLength: Int64 { Int64(max(context.configuration.turnLength, sliceLength)) }

  /// Goes on with a response whose pages are there; one whose pages cannot be read cannot be completed.
  mutating func receivePages(_ index: Int, failure: SystemError?) {
    table[index].output.isFetching = false
    if failure != nil { return abandon(index) }
    table[index].output.fetchedDue = now + Self.pageLifetime
    table[index].isTouched = true
    continueOutput(index)
  }

  /// Notes what was read ahead, and goes on with a response that has come so far meanwhile.
  mutating func receivePagesAhead(_ index: Int, failure: SystemError?) {
    table[index].isReadingAhead = false
    let ahead = table[index].output.ahead
    // For a response before this one.
    guard !ahead.isEmpty else { return }
    if table[index].output.isFetching, ahead.contains(table[index].output.fetchedStart) {
      return receivePages(index, failure: failure)
    }
    // What cannot be read will be asked for again when the response gets there.
    guard failure == nil, table[index].output.fetchedEnd == ahead.lowerBound else { return }
    table[index].output.fetchedEnd = ahead.upperBound
    table[index].output.fetchedDue = now + Self.pageLifetime
  }

  private mutating func isInPageCache(_ file: SharedDescriptor, range: Range<Int64>) -> Bool {
    let number = file.descriptor.number
    if pageCacheHints.holds(number, range: range, now: now) { return true }
    guard context.pages.cache.holds(file, range: range) else { return false }
    pageCacheHints.remember(number, range: range, now: now)
    return true
  }
}
