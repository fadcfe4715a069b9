import Crypto
import CoreTypes
import PullboxAPI
import Synchronization

/// The meters of the grants and devices that content is sent to. The loops add to a meter without a lock; only finding it
/// takes one, once a loop and ticket.
final class MeterRegistry: Sendable {
  /// How long the meter of somebody who is gone is kept, so that going and coming back pays no debt.
  static let memory: Duration = .seconds(60)

  private struct Entry {
    var meter: GrantMeter
    /// Of the meter's bytes, those that were taken to be written down.
    var recorded: Int64 = 0
    /// Since when nobody else holds the meter.
    var unusedSince: MonotonicInstant?
  }

  private struct State {
    var grants: [Ticket.InlineGrant: Entry] = [:]
    var devices: [UInt64: DeviceMeter] = [:]
    var recorded: Int64 = 0
  }

  private let timer: any MonotonicClock
  private let state = Mutex(State())

  init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// `device` is the tag that stands for it in tickets.
  func meter(for grant: Ticket.InlineGrant, device: UInt64, content: SHA256Digest) -> GrantMeter {
    let start = timer.now().nanoseconds
    return state.withLock { state in
      if let entry = state.grants[grant] { return entry.meter }
      let shared = state.devices[device] ?? DeviceMeter(start: start)
      state.devices[device] = shared
      let meter = GrantMeter(grant: grant, content: content, device: shared, start: start)
      state.grants[grant] = Entry(meter: meter)
      return meter
    }
  }

  func all(where isWanted: (GrantMeter) -> Bool) -> [GrantMeter] {
    state.withLock { state in state.grants.values.map(\.meter).filter(isWanted) }
  }

  /// What has been sent since the last call. Meters that nobody else holds any more are forgotten after a while.
  func take() -> [(grant: Ticket.InlineGrant, bytes: ByteCount)] {
    let now = timer.now()
    return state.withLock { state in
      var taken: [(Ticket.InlineGrant, ByteCount)] = []
      for grant in Array(state.grants.keys) {
        guard var entry = state.grants.removeValue(forKey: grant) else { continue }
        let total = entry.meter.rate.total
        if total > entry.recorded {
          taken.append((grant, ByteCount(total - entry.recorded)))
          state.recorded += total - entry.recorded
          entry.recorded = total
        }
        // The entry is out of the dictionary: its own reference is the only one that this class has.
        if taken.last?.0 == grant || !isKnownUniquelyReferenced(&entry.meter) {
          entry.unusedSince = nil
        } else if entry.unusedSince == nil {
          entry.unusedSince = now
        }
        if let since = entry.unusedSince, now - since > Self.memory { continue }
        state.grants[grant] = entry
      }
      for device in Array(state.devices.keys) {
        guard var meter = state.devices.removeValue(forKey: device) else { continue }
        if !isKnownUniquelyReferenced(&meter) { state.devices[device] = meter }
      }
      return taken
    }
  }

  /// Gives back what could not be written down; the next call takes it again.
  func putBack(_ taken: [(grant: Ticket.InlineGrant, bytes: ByteCount)]) {
    state.withLock { state in
      for (grant, bytes) in taken {
        state.grants[grant]?.recorded -= bytes.rawValue
        state.recorded -= bytes.rawValue
      }
    }
  }

  /// Bodies that are on their way, of all grants.
  var bodies: Int { state.withLock { $0.grants.values.reduce(0) { $0 + $1.meter.rate.bodies } } }

  /// Everything taken and not given back, for the metrics.
  var totalRecorded: ByteCount { ByteCount(state.withLock { $0.recorded }) }
}
