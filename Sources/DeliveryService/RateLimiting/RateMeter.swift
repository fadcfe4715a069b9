import Synchronization

/// Counts the bodies of a grant or a device on every loop at once, without a lock, and holds them against a
/// ``TokenBucket``. Bytes are counted as the kernel takes them and put into the bucket in lots, so that a small range costs
/// no look at the clock.
struct RateMeter: ~Copyable {
  /// What a body costs beside its bytes: about what its head and its handling weigh.
  static let bodyCost: Int64 = 512
  /// The most that is in no bucket yet.
  static let largestLot: Int64 = 1 << 20

  private let bytes = Atomic<Int64>(0)
  private let begun = Atomic<Int>(0)
  private let ended = Atomic<Int>(0)
  /// Bodies that are in neither of the two above.
  private let atOnce = Atomic<Int>(0)
  /// Of ``bytes`` and the bodies' costs, what is in the bucket.
  private let settled = Atomic<Int64>(0)
  private let paidUntil: Atomic<UInt64>

  /// `start` is the present, in nanoseconds of the clock that ``delay(_:now:)`` is asked with.
  init(start: UInt64) {
    paidUntil = Atomic(start)
  }

  func didBegin() { begun.add(1, ordering: .relaxed) }

  func didEnd() { ended.add(1, ordering: .relaxed) }

  func didSend(_ count: Int) { bytes.add(Int64(count), ordering: .relaxed) }

  /// A body that began and ended in one step; it never ran beside another.
  func didSendAtOnce(_ count: Int) {
    bytes.add(Int64(count), ordering: .relaxed)
    atOnce.add(1, ordering: .relaxed)
  }

  /// Bytes since the meter was made.
  var total: Int64 { bytes.load(ordering: .relaxed) }

  /// Bodies that are running.
  var bodies: Int { begun.load(ordering: .relaxed) - ended.load(ordering: .relaxed) }

  /// Bytes that the bucket has room for at `now`.
  func room(_ bucket: TokenBucket, now: UInt64) -> Int64 {
    bucket.room(pending, paidUntil: paidUntil.load(ordering: .relaxed), now: now)
  }

  /// What is in no bucket yet.
  private var pending: Int64 {
    let bodies = Int64(begun.load(ordering: .relaxed) + atOnce.load(ordering: .relaxed))
    return total + bodies * Self.bodyCost - settled.load(ordering: .relaxed)
  }

  /// Nanoseconds until the bucket lets another body begin; zero when it may begin now. Loops that ask at the same moment
  /// may each let one in.
  func delay(_ bucket: TokenBucket, now: () -> UInt64) -> UInt64 {
    while true {
      let pending = pending
      guard pending >= min(Self.largestLot, bucket.burst / 4) else { return 0 }
      let before = paidUntil.load(ordering: .relaxed)
      switch bucket.settle(pending, paidUntil: before, now: now()) {
      case .wait(let nanoseconds): return nanoseconds
      case .paid(let until):
        guard paidUntil.compareExchange(expected: before, desired: until, ordering: .relaxed).exchanged else {
          continue
        }
        settled.add(pending, ordering: .relaxed)
        return 0
      }
    }
  }
}
