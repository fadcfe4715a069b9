internal import CoreTypes
internal import Synchronization
internal import SystemCalls

/// Moves what stands in the write-ahead log to its place in the file, on a thread and a connection of its own, while the
/// writer goes on. In a large database the pages lie far apart, and on the writer's thread every write would wait for the
/// disk to have taken them.
final class Checkpointer: Sendable {
  private struct State {
    /// Pages of the log that were in their place when the last move ended.
    var moved: Int32 = 0
    var isMoving = false
  }

  private let thread = ConnectionThread(name: "sqlite-log")
  private let state = Mutex(State())

  /// Blocks. `make` opens the connection.
  func open(_ make: @escaping @Sendable () throws -> ConnectionHandle) throws {
    try thread.open(make)
  }

  /// The number of pages of the log that were moved; nil while it is being moved.
  var moved: Int32? { state.locked { $0.isMoving ? nil : $0.moved } }

  /// Begins to move the log. Not to be called while it is being moved.
  func move() {
    state.locked { $0.isMoving = true }
    thread.run { [self] handle in
      let moved = handle.moveLog()
      state.locked { state in
        state.moved = moved
        state.isMoving = false
      }
    }
  }

  /// Returns when the log is not being moved any more; blocks until then.
  func wait() {
    thread.runAndWait {}
  }

  /// Closes the connection after what was begun; blocks until then.
  func close() {
    thread.close()
  }
}

/// When the log is moved, and when it begins anew. Pure; lengths are in pages.
struct CheckpointSchedule: Hashable, Sendable {
  enum Decision: Hashable, Sendable {
    case none
    /// Beside the writer, who goes on.
    case move
    /// By the writer, as long as no other connection reads the end of the log: it begins anew with the next write.
    case restart
  }

  /// A log of so many intervals is to begin anew, which it does by itself only when nothing is written for a moment.
  static let longIntervals: Int32 = 4
  /// One of so many is to begin anew however much of it the writer has to move itself.
  static let longestIntervals: Int32 = 16

  private let interval: Int32
  private var next: Int32
  private var last: Int32 = -1

  init(every length: ByteCount) {
    interval = Int32(clamping: max(8, length.rawValue / ConnectionHandle.pageLength))
    next = interval
  }

  /// After a commit that has left `pages` in the log; `moved` is nil while the log is being moved.
  mutating func decide(pages: Int32, moved: Int32?) -> Decision {
    // The log has begun anew.
    if pages < last { next = interval }
    last = pages
    guard pages >= next else { return .none }
    if pages / Self.longestIntervals >= interval {
      next = pages + interval
      return .restart
    }
    guard let moved else { return .none }
    let isLong = pages / Self.longIntervals >= interval
    let rest = moved <= pages ? pages - moved : pages
    if isLong, rest <= interval / 8 {
      next = pages + interval
      return .restart
    }
    // What was written meanwhile is moved as well, until little is left.
    next = pages + (isLong ? interval / 8 : interval)
    return .move
  }
}
