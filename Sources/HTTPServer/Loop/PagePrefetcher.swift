internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Brings cold pages of files into memory on threads of its own, so that no loop waits for a disk.
///
/// A loop asks its ``PageCache`` before each slice. What is not in memory it gives to a thread here, which reads it
/// (that is what waits), and goes on with other connections; a note in the loop's mailbox brings the connection back.
/// A response that had to wait once has its next part read while this one is sent. The threads run at a lower
/// priority than the loops, which have what is in memory to send.
///
/// Where the file system cannot tell, everything counts as cached.
final class PagePrefetcher: Sendable {
  struct Job: Sendable {
    let file: SharedDescriptor
    let range: Range<Int64>
    let tag: ConnectionTag
    let mailbox: LoopMailbox
    /// No response waits for it yet.
    var isAhead = false
  }

  /// As nice(1) has it; how little it takes of a processor that a loop wants as well.
  private static let niceness: Int32 = 10

  private struct State {
    var jobs = PageJobQueue<Job>()
    var isStopping = false
  }

  let cache: any PageCache
  private let state = Mutex(State())
  private let jobsAvailable = Semaphore()

  init(_ cache: any PageCache) {
    self.cache = cache
  }

  func fetch(_ job: Job) {
    state.withLock { $0.jobs.append(job, isAhead: job.isAhead) }
    jobsAvailable.signal()
  }

  /// Ends the threads after their current jobs and those that wait.
  func stop(threads: Int) {
    state.withLock { $0.isStopping = true }
    for _ in 0..<threads { jobsAvailable.signal() }
  }

  /// The body of one of the threads.
  func run() {
    // Of this thread alone. Where it is not allowed, the threads compete with the loops as equals.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
    while true {
      jobsAvailable.wait()
      let (job, isStopping) = state.withLock { ($0.jobs.takeFirst(), $0.isStopping) }
      if let job {
        var failure: SystemError?
        do throws(SystemError) {
          try cache.fetch(job.file, range: job.range)
        } catch {
          failure = error
        }
        job.mailbox.post(job.isAhead ? .pagesAhead(job.tag, failure) : .pagesReady(job.tag, failure))
      } else if isStopping {
        return
      }
    }
  }
}

/// Jobs in the order in which they came, those that a response waits for before those that are only read ahead. A
/// connection has at most one of each, so that the order is fair and the number bounded.
struct PageJobQueue<Job> {
  private struct Line {
    var jobs: [Job?] = []
    var first = 0

    mutating func takeFirst() -> Job? {
      guard first < jobs.count else { return nil }
      let job = jobs[first]
      jobs[first] = nil
      first += 1
      if first * 2 > jobs.count {
        jobs.removeFirst(first)
        first = 0
      }
      return job
    }
  }

  private var waited = Line()
  private var ahead = Line()

  mutating func append(_ job: Job, isAhead: Bool) {
    if isAhead { ahead.jobs.append(job) } else { waited.jobs.append(job) }
  }

  mutating func takeFirst() -> Job? { waited.takeFirst() ?? ahead.takeFirst() }
}
