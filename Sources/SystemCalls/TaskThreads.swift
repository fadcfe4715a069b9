internal import CLinux

/// The threads that run Swift's tasks, in a process that is to sleep when it has nothing to do. libdispatch, which runs
/// them otherwise, counts its workers by a timer that fires every second as long as the process lives.
public enum TaskThreads {
  private static let pool = BlockingPool(computing: "pullbox-task")

  /// From now on tasks run on threads of this process's own: one a processor, at least two. They wait without a
  /// timer. Priorities of tasks mean nothing to them: what is ready first runs first.
  ///
  /// Call it before there is a task. What sleeps by `Task.sleep` runs on libdispatch's threads all the same;
  /// `SystemMonotonicClock` does not.
  public static func install() {
    clinux_take_tasks { job in
      TaskThreads.pool.enqueue { clinux_run_task(job) }
    }
  }
}
