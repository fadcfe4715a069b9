internal import Synchronization
internal import SystemCalls

/// Brings cold pages of files into memory on threads of its own, so that no loop waits for a disk.
///
/// A loop asks its ``PageCache`` before each slice. What is not in memory it gives to a thread here, which reads it
/// (that is what waits), and goes on with other connections; a note in the loop's mailbox brings the connection back.
/// Where the file system cannot tell, everything counts as cached.
final class PagePrefetcher: Sendable {
  struct Job: Sendable {
    let file: SharedDescriptor
    let range: Range<Int64>
    let tag: ConnectionTag
    let mailbox: LoopMailbox
  }

  private struct State {
    /// A connection waits for one at a time, so that their order is fair and their number bounded.
    var jobs: [Job] = []
    var isStopping = false
  }

  let cache: any PageCache
  private let state = Mutex(State())
  private let jobsAvailable = Semaphore()

  init(_ cache: any PageCache) {
    self.cache = cache
  }

  func fetch(_ job: Job) {
    state.withLock { $0.jobs.append(job) }
    jobsAvailable.signal()
  }

  /// Ends the threads after their current jobs and those that wait.
  func stop(threads: Int) {
    state.withLock { $0.isStopping = true }
    for _ in 0..<threads { jobsAvailable.signal() }
  }

  /// The body of one of the threads.
  func run() {
    while true {
      jobsAvailable.wait()
      let (job, isStopping) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isStopping)
      }
      if let job {
        var failure: SystemError?
        do throws(SystemError) {
          try cache.fetch(job.file, range: job.range)
        } catch {
          failure = error
        }
        job.mailbox.post(.pagesReady(job.tag, failure))
      } else if isStopping {
        return
      }
    }
  }
}
