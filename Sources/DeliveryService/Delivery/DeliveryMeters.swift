import HTTPServer
import Measures
import PullboxAPI
import Synchronization

/// Counts the body bytes sent for each grant since they were last written down. The loops add to a grant's meter without
/// a lock; only finding the meter takes one, once a connection and grant.
final class DeliveryMeters: Sendable {
  final class Meter: BodyMeter {
    private let unrecorded = Atomic<Int64>(0)

    func didSend(_ count: Int) {
      unrecorded.add(Int64(count), ordering: .relaxed)
    }

    func take() -> ByteCount {
      ByteCount(unrecorded.exchange(0, ordering: .relaxed))
    }
  }

  private let meters = Mutex<[Ticket.InlineGrant: Meter]>([:])
  private let total = Atomic<Int64>(0)

  func meter(for grant: Ticket.InlineGrant) -> Meter {
    meters.withLock { meters in
      if let meter = meters[grant] { return meter }
      let meter = Meter()
      meters[grant] = meter
      return meter
    }
  }

  /// What has been added since the last call. A meter that nobody else holds and that counted nothing is forgotten.
  func take() -> [(grant: Ticket.InlineGrant, bytes: ByteCount)] {
    meters.withLock { meters in
      var taken: [(Ticket.InlineGrant, ByteCount)] = []
      for grant in Array(meters.keys) {
        guard let bytes = meters[grant]?.take() else { continue }
        if bytes > .zero {
          taken.append((grant, bytes))
        } else if isUnused(&meters[grant]) {
          meters[grant] = nil
        }
      }
      return taken
    }
  }

  /// Everything taken so far, for the metrics.
  var totalRecorded: ByteCount { ByteCount(total.load(ordering: .relaxed)) }

  func addToTotal(_ bytes: ByteCount) {
    total.add(bytes.rawValue, ordering: .relaxed)
  }

  private func isUnused(_ meter: inout Meter?) -> Bool {
    // Taken out, so that the dictionary's own reference is the one that is counted.
    guard var taken = meter.take() else { return true }
    let isUnused = isKnownUniquelyReferenced(&taken)
    meter = taken
    return isUnused
  }
}
