package import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI
import Synchronization

/// The meters of the grants and devices that content is sent to: one ``GrantMeter`` a grant, which shares a
/// ``DeviceMeter`` with the other grants of its device. The loops add to a meter without a lock; only to find it
/// takes one, once a loop and ticket. ``DeliveryRecorder`` drains the registry into the database.
///
/// Grants and devices lie on shelves, each with a lock of its own: what looks at all of them holds one shelf at a time, so
/// that a loop waits for the part of it that is one shelf's. A device's lock is taken within a grant's, and those who wait
/// for recordings come before both.
///
///     let meter = registry.meter(for: ticket.handle, device: ticket.device, content: digest)
///     meter.didSend(65_536)
///     let sent = registry.drain()  // [(handle, 65536 bytes)]
///     registry.confirm(sent)       // Or restore(sent), which gives it to the next drain again.
package final class MeterRegistry: Sendable {
  /// How long a meter is kept that no connection holds, so that a client that leaves and returns keeps its debt.
  package static let retention: Duration = .seconds(60)
  /// The number of shelves. With 100,000 grants, each shelf holds some 800, and reading one takes a fifth of a millisecond.
  static let shelfCount = 128

  private struct Entry {
    var meter: GrantMeter
    /// The bytes of the meter that were drained.
    var drained: Int64 = 0
    /// Those of them that are on their way into the database.
    var beingRecorded: Int64 = 0
    /// How often something was drained, and how often what was drained was confirmed or restored.
    var drains = 0
    var ends = 0
    /// The time since which nothing has been sent, and no body was on its way.
    var quietSince: MonotonicInstant?
  }

  /// The bytes that were drained and are on their way into the database.
  package struct Recordings: Sendable {
    package var bytes = ByteCount.zero
    /// How many recordings of each grant have ended when these have.
    fileprivate var ends: [DeliveryHandle: Int] = [:]
  }

  /// How much had been sent for each grant at one moment, as far as it was not in the database yet.
  package struct Mark: Sendable {
    fileprivate var totals: [DeliveryHandle: Int64] = [:]
  }

  private struct Waiters {
    struct Waiter {
      var recordings: Recordings
      var end: AsyncStream<Never>.Continuation
    }

    var waiting: [Int: Waiter] = [:]
    var last = 0
  }

  private struct Grants {
    var entries: [DeliveryHandle: Entry] = [:]
    /// The bytes that were drained of all grants, including those that were forgotten.
    var drained: Int64 = 0
    /// Whether others held a meter that was quiet for long enough, when it was looked at last.
    var isRemembered = false

    /// Returns the bytes that were sent for the grant since its last drain; nil if none were.
    mutating func drain(_ entry: inout Entry) -> ByteCount? {
      let bytes = entry.meter.rate.total - entry.drained
      guard bytes > 0 else { return nil }
      entry.drained += bytes
      entry.beingRecorded += bytes
      entry.drains += 1
      drained += bytes
      return ByteCount(bytes)
    }
  }

  private struct Device {
    var meter: DeviceMeter
    var grants: Set<DeliveryHandle> = []
  }

  private final class Shelf<Content: Sendable>: Sendable {
    private let content: Mutex<Content>

    init(_ content: Content) {
      self.content = Mutex(content)
    }

    func locked<Result: Sendable>(_ body: (inout Content) -> Result) -> Result {
      content.locked { body(&$0) }
    }
  }

  private struct Release {
    var call: (@Sendable () -> Void)?
    var last: MonotonicInstant?
  }

  private let timer: any MonotonicClock
  private let release = Mutex(Release())
  private let grants: [Shelf<Grants>]
  private let devices: [Shelf<[UInt64: Device]>]
  private let waiters = Mutex(Waiters())

  package init(timer: any MonotonicClock) {
    self.timer = timer
    grants = (0..<Self.shelfCount).map { _ in Shelf(Grants()) }
    devices = (0..<Self.shelfCount).map { _ in Shelf([:]) }
  }

  private func shelf(of handle: DeliveryHandle) -> Shelf<Grants> {
    grants[Self.number(handle.hashValue)]
  }

  private func shelf(ofDevice tag: UInt64) -> Shelf<[UInt64: Device]> {
    devices[Self.number(tag.hashValue)]
  }

  private static func number(_ hash: Int) -> Int { Int(UInt(bitPattern: hash) % UInt(shelfCount)) }

  /// `device` is the tag that stands for it in tickets.
  func meter(for handle: DeliveryHandle, device: UInt64, content: SHA256Digest) -> GrantMeter {
    let start = timer.now().nanoseconds
    return shelf(of: handle).locked { grants in
      if let entry = grants.entries[handle] { return entry.meter }
      let shared = shelf(ofDevice: device).locked { devices in
        let shared = devices[device, default: Device(meter: DeviceMeter(start: start))].meter
        devices[device, default: Device(meter: shared)].grants.insert(handle)
        return shared
      }
      let meter = GrantMeter(
        handle: handle, content: content, device: shared, deviceTag: device, start: start)
      grants.entries[handle] = Entry(meter: meter)
      return meter
    }
  }

  /// The meters of all grants that the closure accepts.
  package func all(where isWanted: (GrantMeter) -> Bool) -> [GrantMeter] {
    grants.flatMap { shelf in shelf.locked { $0.entries.values.map(\.meter).filter(isWanted) } }
  }

  /// The meters of those grants, as far as there are any: looks at no others.
  package func all(of handles: [DeliveryHandle]) -> [GrantMeter] {
    handles.compactMap { handle in shelf(of: handle).locked { $0.entries[handle]?.meter } }
  }

  /// Sets how loops, and connections that wait for a request, are made to let go of meters that they only remember.
  package func releaseIdle(with call: @escaping @Sendable () -> Void) {
    release.locked { $0.call = call }
  }

  /// The bytes that were sent since the last call, by grant. Meters by which nothing was sent for ``retention`` are forgotten
  /// once only this registry holds them, to which those who only remember them are called, once in that time.
  package func drain() -> [(handle: DeliveryHandle, bytes: ByteCount)] {
    let now = timer.now()
    let drained = grants.flatMap { shelf in shelf.locked { drain(&$0, at: now) } }
    if grants.contains(where: { $0.locked { $0.isRemembered } }) { callForRelease(at: now) }
    for shelf in devices {
      shelf.locked { devices in
        for tag in Array(devices.keys) {
          guard var device = devices.removeValue(forKey: tag) else { continue }
          let isUsed = !device.grants.isEmpty || !isKnownUniquelyReferenced(&device.meter)
          if isUsed { devices[tag] = device }
        }
      }
    }
    return drained
  }

  private func drain(
    _ grants: inout Grants, at now: MonotonicInstant
  ) -> [(handle: DeliveryHandle, bytes: ByteCount)] {
    var drained: [(handle: DeliveryHandle, bytes: ByteCount)] = []
    grants.isRemembered = false
    for handle in Array(grants.entries.keys) {
      guard var entry = grants.entries.removeValue(forKey: handle) else { continue }
      if let bytes = grants.drain(&entry) { drained.append((handle, bytes)) }
      if drained.last?.handle == handle || entry.meter.hasBodies {
        entry.quietSince = nil
      } else if entry.quietSince == nil {
        entry.quietSince = now
      }
      guard let since = entry.quietSince, now - since > Self.retention, entry.beingRecorded == 0 else {
        grants.entries[handle] = entry
        continue
      }
      if Self.mayBeForgotten(&entry) {
        let tag = entry.meter.deviceTag
        shelf(ofDevice: tag).locked { _ = $0[tag]?.grants.remove(handle) }
      } else {
        grants.isRemembered = true
        grants.entries[handle] = entry
      }
    }
    return drained
  }

  /// Whether only this entry has the meter, which no one else can get before the shelf's lock is let go, and nothing was
  /// counted since it was drained. The entry has to be out of its dictionary, whose reference would be another.
  private static func mayBeForgotten(_ entry: inout Entry) -> Bool {
    guard isKnownUniquelyReferenced(&entry.meter) else { return false }
    // What others counted before they let go of it is seen here.
    atomicMemoryFence(ordering: .acquiring)
    return entry.meter.rate.total == entry.drained
  }

  private func callForRelease(at now: MonotonicInstant) {
    let call = release.locked { release -> (@Sendable () -> Void)? in
      if let last = release.last, now - last < Self.retention { return nil }
      release.last = now
      return release.call
    }
    call?()
  }

  /// The bytes of one package that were sent to one device since the last call, by grant; and those of it that are
  /// drained already and on their way into the database.
  package func drain(
    content: SHA256Digest, device: UInt64
  ) -> (drained: [(handle: DeliveryHandle, bytes: ByteCount)], beingRecorded: Recordings) {
    var drained: [(handle: DeliveryHandle, bytes: ByteCount)] = []
    var recordings = Recordings()
    for handle in shelf(ofDevice: device).locked({ $0[device]?.grants ?? [] }) {
      let (sent, others) = shelf(of: handle).locked { grants -> (ByteCount?, (Int64, Int)?) in
        guard var entry = grants.entries[handle], entry.meter.content == content else { return (nil, nil) }
        let others = entry.beingRecorded > 0 ? (entry.beingRecorded, entry.drains) : nil
        let bytes = grants.drain(&entry)
        grants.entries[handle] = entry
        return (bytes, others)
      }
      if let (bytes, drains) = others {
        recordings.bytes += ByteCount(bytes)
        recordings.ends[handle] = drains
      }
      if let sent { drained.append((handle, sent)) }
    }
    return (drained, recordings)
  }

  /// The bytes that were sent for the grant and are not in the database yet.
  package func unrecorded(_ handle: DeliveryHandle) -> ByteCount {
    shelf(of: handle).locked { grants in
      ByteCount(
        grants.entries[handle].map { $0.meter.rate.total - $0.drained + $0.beingRecorded } ?? 0)
    }
  }

  /// The bytes that have been sent by now and are not in the database yet.
  package func mark() -> Mark {
    var mark = Mark()
    for shelf in grants {
      mark.totals.merge(
        shelf.locked { grants in
          grants.entries.compactMapValues { entry in
            let total = entry.meter.rate.total
            return total > entry.drained - entry.beingRecorded ? total : nil
          }
        }
      ) { first, _ in first }
    }
    return mark
  }

  /// The recordings by which what had been sent at the mark comes into the database; nil once all of it is there.
  package func recordings(until mark: Mark) -> Recordings? {
    var recordings = Recordings()
    for (handle, total) in mark.totals {
      let found = shelf(of: handle).locked { grants -> (bytes: Int64, drains: Int)? in
        guard let entry = grants.entries[handle], entry.drained - entry.beingRecorded < total else {
          return nil
        }
        return (entry.beingRecorded, entry.drains)
      }
      guard let found else { continue }
      recordings.bytes += ByteCount(found.bytes)
      recordings.ends[handle] = found.drains
    }
    return recordings.ends.isEmpty ? nil : recordings
  }

  /// Takes note that the drained bytes are in the database.
  package func confirm(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)]) {
    end(drained, isRecorded: true)
  }

  /// Returns what could not be written down; the next ``drain()`` has it again.
  package func restore(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)]) {
    end(drained, isRecorded: false)
  }

  private func end(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)], isRecorded: Bool) {
    for (handle, bytes) in drained {
      shelf(of: handle).locked { grants in
        grants.entries[handle]?.beingRecorded -= bytes.rawValue
        grants.entries[handle]?.ends += 1
        guard !isRecorded else { return }
        grants.entries[handle]?.drained -= bytes.rawValue
        grants.drained -= bytes.rawValue
      }
    }
    let done = waiters.locked { waiters in
      let done = waiters.waiting.filter { haveEnded($0.value.recordings) }
      for number in done.keys { waiters.waiting[number] = nil }
      return done.values.map(\.end)
    }
    for end in done { end.finish() }
  }

  private func haveEnded(_ recordings: Recordings) -> Bool {
    recordings.ends.allSatisfy { handle, ends in
      shelf(of: handle).locked { $0.entries[handle].map { $0.ends >= ends } ?? true }
    }
  }

  /// Returns once the recordings were confirmed or restored; a later recording of the same grant that ends before them
  /// counts for one of them. Throws `CancellationError`.
  package func waitForEnd(of recordings: Recordings) async throws {
    let (stream, end) = AsyncStream.makeStream(of: Never.self)
    let number = waiters.locked { waiters -> Int? in
      guard !haveEnded(recordings) else { return nil }
      waiters.last += 1
      waiters.waiting[waiters.last] = Waiters.Waiter(recordings: recordings, end: end)
      return waiters.last
    }
    guard let number else { return }
    for await _ in stream {}
    waiters.locked { _ = $0.waiting.removeValue(forKey: number) }
    try Task.checkCancellation()
  }

  /// Tasks that wait for the end of recordings.
  package var waiterCount: Int { waiters.locked { $0.waiting.count } }

  /// Bodies that are on their way, of all grants.
  package var bodies: Int { sum { grants in grants.entries.values.reduce(0) { $0 + $1.meter.rate.bodies } } }

  /// Every byte that was sent since the start.
  package var total: ByteCount {
    ByteCount(
      sum { grants in
        grants.entries.values.reduce(grants.drained) { $0 + $1.meter.rate.total - $1.drained }
      })
  }

  /// Grants on the fullest shelf: what is looked at under one lock.
  var longestShelf: Int { grants.map { shelf in shelf.locked { $0.entries.count } }.max() ?? 0 }

  private func sum<Number: AdditiveArithmetic & Sendable>(_ part: (Grants) -> Number) -> Number {
    grants.reduce(.zero) { sum, shelf in sum + shelf.locked { part($0) } }
  }
}
