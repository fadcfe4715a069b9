/// A connection's place in the ``TimerWheel``.
struct TimerEntry {
  /// When its deadline passes, in nanoseconds of the loop's clock; zero for none.
  var due: UInt64 = 0
  /// The slot of the wheel it hangs in; -1 for none. It may hang in an earlier one than ``due`` asks, never in a later.
  var slot: Int8 = -1
  var scheduledTick: UInt64 = 0
  var next: Int32 = -1
  var previous: Int32 = -1
}
