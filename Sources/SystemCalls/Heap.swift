internal import CLinux

/// The memory that Swift and the C libraries allocate from.
public enum Heap {
  /// Keeps what is freed in few places: by default the C library makes up to eight heaps for each processor, one for a
  /// thread that finds the others in use, and what one thread leaves free in its heap the others do not take. Also
  /// gives long allocations back to the system as soon as they are freed.
  ///
  /// Call it before there is a second thread. Does nothing where another library allocates, as in the delivery server.
  public static func limit() {
    // Without it the process works as well, and takes more memory.
    _ = clinux_limit_heaps(2, 65_536, 128 << 10)
  }

  /// Gives the pages back to the system that hold nothing any more. By itself the C library does that at the end of a heap
  /// alone, so that what is left there keeps all that was freed before it. Takes a millisecond for some ten MiB.
  public static func trim() {
    clinux_trim_heaps()
  }
}
