import CoreTypes
import Crypto
import PullboxAPI
import Synchronization

/// The meters of the grants and devices that content is sent to: one ``GrantMeter`` a grant, which shares a
/// ``DeviceMeter`` with the other grants of its device. The loops add to a meter without a lock; only to find it
/// takes one, once a loop and ticket. ``DeliveryRecorder`` drains the registry into the database.
///
///     let meter = registry.meter(for: ticket.handle, device: ticket.device, content: digest)
///     meter.didSend(65_536)
///     let sent = registry.drain()  // [(handle, 65536 bytes)]
///     registry.confirm(sent)       // Or restore(sent), which gives it to the next drain again.
final class MeterRegistry: Sendable {
  /// How long a meter is kept that no connection holds, so that a client that leaves and returns keeps its debt.
  static let retention: Duration = .seconds(60)

  private struct Entry {
    var meter: GrantMeter
    /// The bytes of the meter that were drained.
    var drained: Int64 = 0
    /// Those of them that are on their way into the database.
    var beingRecorded: Int64 = 0
    /// How often something was drained, and how often what was drained was confirmed or restored.
    var drains = 0
    var ends = 0
    /// The time since which only this registry holds the meter.
    var unusedSince: MonotonicInstant?
  }

  /// What was drained and is on its way into the database.
  struct Recordings: Sendable {
    var bytes = ByteCount.zero
    /// How many recordings of each grant have ended when these have.
    fileprivate var ends: [DeliveryHandle: Int] = [:]
  }

  private struct Waiter {
    var recordings: Recordings
    var end: AsyncStream<Never>.Continuation
  }

  private struct State {
    var grants: [DeliveryHandle: Entry] = [:]
    var devices: [UInt64: Device] = [:]
    var drained: Int64 = 0
    var waiters: [Int: Waiter] = [:]
    var lastWaiter = 0

    /// What was sent for the grant since it was drained last; nil if nothing was.
    mutating func drain(_ entry: inout Entry) -> ByteCount? {
      let bytes = entry.meter.rate.total - entry.drained
      guard bytes > 0 else { return nil }
      entry.drained += bytes
      entry.beingRecorded += bytes
      entry.drains += 1
      drained += bytes
      return ByteCount(bytes)
    }

    func haveEnded(_ recordings: Recordings) -> Bool {
      recordings.ends.allSatisfy { handle, ends in grants[handle].map { $0.ends >= ends } ?? true }
    }

    /// Takes out those who have waited long enough.
    mutating func takeWaiters() -> [Waiter] {
      guard !waiters.isEmpty else { return [] }
      let done = waiters.filter { haveEnded($0.value.recordings) }
      for number in done.keys { waiters[number] = nil }
      return Array(done.values)
    }
  }

  private struct Device {
    var meter: DeviceMeter
    var grants: Set<DeliveryHandle> = []
  }

  private let timer: any MonotonicClock
  private let state = Mutex(State())

  init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// `device` is the tag that stands for it in tickets.
  func meter(for handle: DeliveryHandle, device: UInt64, content: SHA256Digest) -> GrantMeter {
    let start = timer.now().nanoseconds
    return state.withLock { state in
      if let entry = state.grants[handle] { return entry.meter }
      let shared = state.devices[device, default: Device(meter: DeviceMeter(start: start))].meter
      state.devices[device, default: Device(meter: shared)].grants.insert(handle)
      let meter = GrantMeter(handle: handle, content: content, device: shared, start: start)
      state.grants[handle] = Entry(meter: meter)
      return meter
    }
  }

  /// The meters of all grants that the closure accepts.
  func all(where isWanted: (GrantMeter) -> Bool) -> [GrantMeter] {
    state.withLock { state in state.grants.values.map(\.meter).filter(isWanted) }
  }

  /// The bytes that were sent since the last call, by grant. Meters that only this registry has held for
  /// ``retention`` are forgotten.
  func drain() -> [(handle: DeliveryHandle, bytes: ByteCount)] {
    let now = timer.now()
    return state.withLock { state in
      var drained: [(DeliveryHandle, ByteCount)] = []
      for handle in Array(state.grants.keys) {
        guard var entry = state.grants.removeValue(forKey: handle) else { continue }
        if let bytes = state.drain(&entry) { drained.append((handle, bytes)) }
        // The entry is out of the dictionary: its own reference is the only one that this class has.
        if drained.last?.0 == handle || !isKnownUniquelyReferenced(&entry.meter) {
          entry.unusedSince = nil
        } else if entry.unusedSince == nil {
          entry.unusedSince = now
        }
        if let since = entry.unusedSince, now - since > Self.retention, entry.beingRecorded == 0 { continue }
        state.grants[handle] = entry
      }
      for tag in Array(state.devices.keys) {
        guard var device = state.devices.removeValue(forKey: tag) else { continue }
        device.grants = device.grants.filter { state.grants[$0] != nil }
        if !isKnownUniquelyReferenced(&device.meter) { state.devices[tag] = device }
      }
      return drained
    }
  }

  /// The bytes of one package that were sent to one device since the last call, by grant; and those of it that are
  /// drained already and on their way into the database.
  func drain(
    content: SHA256Digest, device: UInt64
  ) -> (drained: [(handle: DeliveryHandle, bytes: ByteCount)], beingRecorded: Recordings) {
    state.withLock { state in
      var drained: [(handle: DeliveryHandle, bytes: ByteCount)] = []
      var recordings = Recordings()
      for handle in state.devices[device]?.grants ?? [] {
        guard var entry = state.grants[handle], entry.meter.content == content else { continue }
        if entry.beingRecorded > 0 {
          recordings.bytes += ByteCount(entry.beingRecorded)
          recordings.ends[handle] = entry.drains
        }
        guard let bytes = state.drain(&entry) else { continue }
        drained.append((handle, bytes))
        state.grants[handle] = entry
      }
      return (drained, recordings)
    }
  }

  /// The bytes that were sent for the grant and are not in the database yet.
  func unrecorded(_ handle: DeliveryHandle) -> ByteCount {
    state.withLock { state in
      ByteCount(state.grants[handle].map { $0.meter.rate.total - $0.drained + $0.beingRecorded } ?? 0)
    }
  }

  /// What was drained is in the database.
  func confirm(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)]) {
    end(drained) { _, _ in }
  }

  /// Returns what could not be written down; the next ``drain()`` has it again.
  func restore(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)]) {
    end(drained) { state, sent in
      state.grants[sent.handle]?.drained -= sent.bytes.rawValue
      state.drained -= sent.bytes.rawValue
    }
  }

  private func end(
    _ drained: [(handle: DeliveryHandle, bytes: ByteCount)],
    _ change: (inout State, (handle: DeliveryHandle, bytes: ByteCount)) -> Void
  ) {
    let waiters = state.withLock { state in
      for sent in drained {
        state.grants[sent.handle]?.beingRecorded -= sent.bytes.rawValue
        state.grants[sent.handle]?.ends += 1
        change(&state, sent)
      }
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.end.finish() }
  }

  /// Returns once the recordings were confirmed or restored; a later recording of the same grant that ends before them
  /// counts for one of them. Throws `CancellationError`.
  func waitForEnd(of recordings: Recordings) async throws {
    let (stream, end) = AsyncStream.makeStream(of: Never.self)
    let number = state.withLock { state -> Int? in
      guard !state.haveEnded(recordings) else { return nil }
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = Waiter(recordings: recordings, end: end)
      return state.lastWaiter
    }
    guard let number else { return }
    for await _ in stream {}
    state.withLock { _ = $0.waiters.removeValue(forKey: number) }
    try Task.checkCancellation()
  }

  /// Tasks that wait for the end of recordings.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Bodies that are on their way, of all grants.
  var bodies: Int { state.withLock { $0.grants.values.reduce(0) { $0 + $1.meter.rate.bodies } } }

  /// Every byte that was sent since the start.
  var total: ByteCount {
    ByteCount(
      state.withLock { state in
        state.grants.values.reduce(state.drained) { $0 + $1.meter.rate.total - $1.drained }
      })
  }
}
