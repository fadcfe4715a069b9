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
///     registry.restore(sent)       // Not written down: the next drain has it again.
final class MeterRegistry: Sendable {
  /// How long a meter is kept that no connection holds, so that a client that leaves and returns keeps its debt.
  static let retention: Duration = .seconds(60)

  private struct Entry {
    var meter: GrantMeter
    /// The bytes of the meter that were drained.
    var recorded: Int64 = 0
    /// The time since which only this registry holds the meter.
    var unusedSince: MonotonicInstant?
  }

  private struct State {
    var grants: [DeliveryHandle: Entry] = [:]
    var devices: [UInt64: DeviceMeter] = [:]
    var recorded: Int64 = 0
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
      let shared = state.devices[device] ?? DeviceMeter(start: start)
      state.devices[device] = shared
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
        let total = entry.meter.rate.total
        if total > entry.recorded {
          drained.append((handle, ByteCount(total - entry.recorded)))
          state.recorded += total - entry.recorded
          entry.recorded = total
        }
        // The entry is out of the dictionary: its own reference is the only one that this class has.
        if drained.last?.0 == handle || !isKnownUniquelyReferenced(&entry.meter) {
          entry.unusedSince = nil
        } else if entry.unusedSince == nil {
          entry.unusedSince = now
        }
        if let since = entry.unusedSince, now - since > Self.retention { continue }
        state.grants[handle] = entry
      }
      for device in Array(state.devices.keys) {
        guard var meter = state.devices.removeValue(forKey: device) else { continue }
        if !isKnownUniquelyReferenced(&meter) { state.devices[device] = meter }
      }
      return drained
    }
  }

  /// Returns what could not be written down; the next ``drain()`` has it again.
  func restore(_ drained: [(handle: DeliveryHandle, bytes: ByteCount)]) {
    state.withLock { state in
      for (handle, bytes) in drained {
        state.grants[handle]?.recorded -= bytes.rawValue
        state.recorded -= bytes.rawValue
      }
    }
  }

  /// Bodies that are on their way, of all grants.
  var bodies: Int { state.withLock { $0.grants.values.reduce(0) { $0 + $1.meter.rate.bodies } } }

  /// Every byte that was drained and not restored, since the start.
  var totalRecorded: ByteCount { ByteCount(state.withLock { $0.recorded }) }
}
