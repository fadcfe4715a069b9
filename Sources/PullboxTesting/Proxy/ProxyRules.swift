internal import Dispatch
internal import Synchronization

/// The changes that a ``PackageProxy`` makes to the package bytes that pass, and a record of those bytes.
/// Relays ask here before they forward.
final class ProxyRules: Sendable {
  /// The rules, what waits for them, and the record.
  private struct State {
    /// The offsets whose byte is changed once.
    var flips: Set<Int64> = []
    /// The offsets before which a connection is cut once.
    var cuts: Set<Int64> = []
    /// The first offset that does not pass; nil where all do.
    var hold: Int64?
    /// A semaphore for each relay that waits at the hold.
    var waiting: [DispatchSemaphore] = []
    /// The tests that wait for a relay to be held.
    var watchers: [CheckedContinuation<Void, Never>] = []
    /// The ranges that went to clients, in the order of their passing.
    var forwarded: [Range<Int64>] = []
  }

  /// Guards the rules: relays and tests come from several threads.
  private let state = Mutex(State())

  /// Changes the lowest bit of the byte at that offset, once.
  func flip(at offset: Int64) { state.withLock { _ = $0.flips.insert(offset) } }

  /// Cuts the connection before that offset, once.
  func cut(at offset: Int64) { state.withLock { _ = $0.cuts.insert(offset) } }

  /// Holds all bytes from that offset on. A hold replaces the one before.
  func hold(at offset: Int64) { state.withLock { $0.hold = offset } }

  /// Lifts the hold and lets the relays that wait go on.
  func release() {
    let waiting = state.withLock { state in
      state.hold = nil
      defer { state.waiting = [] }
      return state.waiting
    }
    for semaphore in waiting { semaphore.signal() }
  }

  /// Returns once a relay waits at the hold: everything before it was forwarded.
  func waitUntilHeld() async {
    await withCheckedContinuation { continuation in
      let isHeld = state.withLock { state in
        if !state.waiting.isEmpty { return true }
        state.watchers.append(continuation)
        return false
      }
      if isHeld { continuation.resume() }
    }
  }

  /// The ranges so far; a range that continues the last one has grown it.
  var forwarded: [Range<Int64>] { state.withLock { $0.forwarded } }

  /// The longest beginning of `range` that may be forwarded now, at least one byte; blocks while the hold is at its first.
  func admit(_ range: Range<Int64>) -> Range<Int64> {
    while true {
      let semaphore = DispatchSemaphore(value: 0)
      let (admitted, watchers) = state.withLock { state in
        guard let hold = state.hold, hold < range.upperBound else {
          return (Optional(range), [CheckedContinuation<Void, Never>]())
        }
        if hold > range.lowerBound { return (range.lowerBound..<hold, []) }
        state.waiting.append(semaphore)
        defer { state.watchers = [] }
        return (nil, state.watchers)
      }
      for watcher in watchers { watcher.resume() }
      if let admitted { return admitted }
      semaphore.wait()
    }
  }

  /// The first offset in `range` where the connection is to be cut; only once.
  func removeCut(in range: Range<Int64>) -> Int64? {
    state.withLock { state in
      let cut = state.cuts.filter { range.contains($0) }.min()
      if let cut { state.cuts.remove(cut) }
      return cut
    }
  }

  /// The offsets in `range` whose byte is to be changed; each only once.
  func removeFlips(in range: Range<Int64>) -> [Int64] {
    state.withLock { state in
      let flips = state.flips.filter { range.contains($0) }
      state.flips.subtract(flips)
      return Array(flips)
    }
  }

  /// Notes bytes that were handed to a client's socket.
  func note(forwarded range: Range<Int64>) {
    state.withLock { state in
      if let last = state.forwarded.last, last.upperBound == range.lowerBound {
        state.forwarded[state.forwarded.count - 1] = last.lowerBound..<range.upperBound
      } else {
        state.forwarded.append(range)
      }
    }
  }
}
