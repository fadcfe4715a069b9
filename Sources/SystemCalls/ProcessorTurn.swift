internal import Glibc

/// For long work that is not urgent.
public enum ProcessorTurn {
  /// Lets another thread that waits for this processor go first; costs next to nothing where none does. A kernel lets a thread that
  /// has slept work for milliseconds before one that wakes behind it gets its turn, whatever their priorities are.
  public static func pass() { sched_yield() }
}
