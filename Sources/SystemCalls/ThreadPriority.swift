internal import CLinux

/// The turn of the calling thread at the disk and at the processors, beside those of others.
public enum ThreadPriority: Hashable, Sendable {
  /// The turn of the process.
  case ofProcess
  /// The turn of everyone, also in a process whose disk requests go last.
  case normal
  /// Where no one else wants the disk (`IOPRIO_CLASS_IDLE`) or a processor (`SCHED_IDLE`).
  case background

  /// Sets that of the calling thread. Where the system does not let this process, it stays as it was; a thread that could not come back
  /// from `SCHED_IDLE` stands back at the disk alone.
  public func applyToThread() {
    let standing: Int32 =
      switch self {
      case .ofProcess: 0
      case .normal: 1
      case .background: -1
      }
    clinux_set_thread_standing(standing)
  }
}
