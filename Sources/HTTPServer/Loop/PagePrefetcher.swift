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

  /// A response waits for what was to be read ahead for its connection.
  func expedite(_ tag: ConnectionTag) {
    state.withLock { $0.jobs.promote { job in job.tag == tag } }
  }

  /// Ends the threads after their current jobs; those that wait are left, since their loops have ended.
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
      let (job, isStopping) = state.withLock { ($0.isStopping ? nil : $0.jobs.takeFirst(), $0.isStopping) }
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
      while first < jobs.count {
        let job = jobs[first]
        jobs[first] = nil
        first += 1
        if first * 2 > jobs.count {
          jobs.removeFirst(first)
          first = 0
        }
        // Nil where it was promoted.
        if let job { return job }
      }
      return nil
    }

    mutating func remove(where isWanted: (Job) -> Bool) -> Job? {
      guard let place = jobs.indices.first(where: { jobs[$0].map(isWanted) == true }) else { return nil }
      defer { jobs[place] = nil }
      return jobs[place]
    }
  }

  private var waited = Line()
  private var ahead = Line()

  mutating func append(_ job: Job, isAhead: Bool) {
    if isAhead { ahead.jobs.append(job) } else { waited.jobs.append(job) }
  }

  mutating func takeFirst() -> Job? { waited.takeFirst() ?? ahead.takeFirst() }

  /// Puts the first such job that is only read ahead behind those that responses wait for, if there is one.
  mutating func promote(where isWanted: (Job) -> Bool) {
    if let job = ahead.remove(where: isWanted) { waited.jobs.append(job) }
  }
}
