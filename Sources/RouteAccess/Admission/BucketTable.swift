import ContentDelivery
import CoreTypes

/// The state of many token buckets in memory of a fixed size, for keys that clients choose.
///
/// A key has a place in one of many small sets. A set that is full gives up the bucket that owes least: one that owes
/// nothing is as good as none, and a client that floods under many keys drives out its own. So a request costs the
/// same however many keys there are.
struct BucketTable {
  struct Slot: Hashable {
    var key: UInt64 = 0
    /// See ``TokenBucket/charge(_:paidUntil:now:)``.
    var paidUntil: UInt64 = 0
    /// The time until which clients that were refused under this key were told to come back.
    var returns = ReturnSchedule()

    /// The time at which the bucket owes nothing. A full set gives up the bucket with the earliest.
    fileprivate var end: UInt64 { max(paidUntil, returns.filledUntil) }
  }

  /// Whether a bucket had room for a request.
  package enum Decision: Hashable {
    case admitted
    /// Not before so many nanoseconds have passed.
    case refused(nanoseconds: UInt64)
  }

  /// Slots of a set.
  static let ways = 8

  private var slots: [Slot]
  private let sets: Int

  /// Room for `capacity` buckets, rounded up to whole sets.
  init(capacity: Int) {
    sets = max(1, (capacity + Self.ways - 1) / Self.ways)
    slots = Array(repeating: Slot(), count: sets * Self.ways)
  }

  /// Charges one request under that key, or refuses it and makes a place for its return. `now` is in nanoseconds of
  /// a monotonic clock. A refused request is not charged.
  mutating func charge(_ key: UInt64, by bucket: TokenBucket, now: UInt64) -> Decision {
    let place = place(of: key)
    if slots[place].key != key { slots[place] = Slot(key: key) }
    switch bucket.charge(1, paidUntil: slots[place].paidUntil, now: now) {
    case .paid(let until):
      slots[place].paidUntil = until
      return .admitted
    case .wait(let nanoseconds):
      let delay = slots[place].returns.delay(perSecond: Double(bucket.rate), now: now)
      return .refused(nanoseconds: max(nanoseconds, delay))
    }
  }

  /// Whether a request under that key would be admitted; charges nothing.
  func admits(_ key: UInt64, by bucket: TokenBucket, now: UInt64) -> Bool {
    let first = Int(key % UInt64(sets)) * Self.ways
    guard let slot = slots[first..<first + Self.ways].first(where: { $0.key == key }) else { return true }
    if case .paid = bucket.charge(1, paidUntil: slot.paidUntil, now: now) { return true }
    return false
  }

  /// The slot of the key, or the one that is given up for it.
  private func place(of key: UInt64) -> Int {
    let first = Int(key % UInt64(sets)) * Self.ways
    var least = first
    for index in first..<first + Self.ways {
      if slots[index].key == key { return index }
      if slots[index].end < slots[least].end { least = index }
    }
    return least
  }
}

/// When refused clients are to come back: each gets a place behind the last, at the rate at which they can be served,
/// so that they do not come together. The time that is told grows with the number of those that wait.
struct ReturnSchedule: Hashable {
  /// The longest time that is told, in nanoseconds.
  static let longest: UInt64 = 60_000_000_000

  /// The place behind the last, in nanoseconds of a monotonic clock.
  private(set) var filledUntil: UInt64 = 0

  /// Nanoseconds until the place of one more client.
  mutating func delay(perSecond rate: Double, now: UInt64) -> UInt64 {
    let place = max(filledUntil, now)
    let spacing = UInt64(clamping: 1e9 / max(rate, 0.001))
    filledUntil = min(place + min(spacing, Self.longest), now + Self.longest)
    return place - now
  }
}

/// An estimate of the requests a second that a class can answer, learned in seconds in which all its places were taken: in
/// all others it had less to do than it could.
struct ThroughputEstimate: Hashable {
  /// Before anything is learned.
  static let initial = 1000.0
  /// The lowest rate that is believed, so that a stalled class recovers.
  static let least = 20.0

  private(set) var perSecond = Self.initial
  /// Whether a class was full for long enough that its rate was seen.
  private(set) var isLearned = false
  /// The rate at which refused clients are told to return: less than can be answered, so that those who return
  /// seldom meet a server that is still behind, and are not sent away again and again.
  var returnsPerSecond: Double { perSecond * 0.85 }

  private var second: UInt64 = 0
  private var answered = 0
  private var isFull = false

  mutating func didAnswer(now: UInt64) {
    proceed(to: now)
    answered += 1
  }

  mutating func wasFull(now: UInt64) {
    proceed(to: now)
    isFull = true
  }

  /// Closes the second that is over. It counts if the class was full in it.
  private mutating func proceed(to now: UInt64) {
    let present = now / 1_000_000_000
    guard present != second else { return }
    // A second of which not all was seen says too little.
    if isFull, present == second + 1 {
      perSecond = max(Self.least, (perSecond + Double(answered)) / 2)
      isLearned = true
    }
    second = present
    answered = 0
    isFull = false
  }
}
