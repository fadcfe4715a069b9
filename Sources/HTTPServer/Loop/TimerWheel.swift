/// The deadlines of a loop's connections, in 64 slots of 2^26 nanoseconds (67 ms) each.
///
/// The wheel holds only the head of each slot's list; the links are the ``TimerEntry`` of each connection in
/// the ``ConnectionTable``, so scheduling allocates nothing. A deadline that moves to a later time, as nearly
/// all do, costs nothing: its entry is looked at when its old slot comes around, and scheduled anew. A
/// deadline passes up to one slot late, never early.
///
/// ```swift
/// table[index].timer.due = now + 15_000_000_000
/// wheel.schedule(index, in: table)
/// // later, when wait(now:) has passed:
/// while let index = wheel.popNext(now: now, in: table) {
///   if table[index].timer.due <= now { expire(index) } else { wheel.schedule(index, in: table) }
/// }
/// ```
struct TimerWheel {
  static let tickShift: UInt64 = 26

  private var heads = InlineArray<64, Int32>(repeating: -1)
  private var occupied: UInt64 = 0
  /// The last tick whose slot was emptied.
  private var tick: UInt64

  init(now: UInt64) {
    tick = now >> TimerWheel.tickShift
  }

  /// Nanoseconds until a slot has to be looked at; nil while none is occupied.
  @inline(__always)
  func wait(now: UInt64) -> UInt64? {
    guard occupied != 0 else { return nil }
    let start = (tick + 1) & 63
    let rotated = start == 0 ? occupied : occupied >> start | occupied << (64 - start)
    let due = (tick + 1 + UInt64(rotated.trailingZeroBitCount)) << TimerWheel.tickShift
    return due > now ? due - now : 0
  }

  /// Puts the connection into the slot of its deadline, unless it is in an earlier one already.
  mutating func schedule(_ index: Int, in table: borrowing ConnectionTable) {
    let due = table[index].timer.due
    let wanted = min(max((due >> TimerWheel.tickShift) + 1, tick + 1), tick + 63)
    if table[index].timer.slot >= 0 {
      if table[index].timer.scheduledTick <= wanted { return }
      remove(index, in: table)
    }
    let slot = Int(wanted & 63)
    let head = heads[slot]
    table[index].timer.slot = Int8(slot)
    table[index].timer.scheduledTick = wanted
    table[index].timer.previous = -1
    table[index].timer.next = head
    if head >= 0 { table[Int(head)].timer.previous = Int32(index) }
    heads[slot] = Int32(index)
    occupied |= 1 << UInt64(slot)
  }

  mutating func remove(_ index: Int, in table: borrowing ConnectionTable) {
    let entry = table[index].timer
    guard entry.slot >= 0 else { return }
    if entry.previous >= 0 {
      table[Int(entry.previous)].timer.next = entry.next
    } else {
      heads[Int(entry.slot)] = entry.next
      if entry.next < 0 { occupied &= ~(1 << UInt64(entry.slot)) }
    }
    if entry.next >= 0 { table[Int(entry.next)].timer.previous = entry.previous }
    table[index].timer.slot = -1
  }

  /// Removes and returns the next connection whose slot has come around by `now`; its deadline may still lie
  /// ahead. Nil when there is none.
  mutating func popNext(now: UInt64, in table: borrowing ConnectionTable) -> Int? {
    let current = now >> TimerWheel.tickShift
    while true {
      guard occupied != 0 else {
        tick = max(tick, current)
        return nil
      }
      guard tick < current else { return nil }
      let head = heads[Int((tick + 1) & 63)]
      if head >= 0 {
        remove(Int(head), in: table)
        return Int(head)
      }
      tick += 1
    }
  }
}

/// A connection's place in the ``TimerWheel``.
struct TimerEntry {
  /// When its deadline passes, in nanoseconds of the loop's clock; zero for none.
  var due: UInt64 = 0
  var scheduledTick: UInt64 = 0
  var next: Int32 = -1
  var previous: Int32 = -1
  /// The slot of the wheel it is in; -1 for none. It may be an earlier one than ``due`` asks for, never a
  /// later one.
  var slot: Int8 = -1
}
