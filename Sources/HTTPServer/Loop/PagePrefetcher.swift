import CoreTypes
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

  /// The niceness of the threads that read (nice(1)), so that they yield a processor to the loops.
  private static let niceness: Int32 = 10

  /// A connection of the server: each loop counts its own.
  private struct Owner: Hashable {
    let loop: ObjectIdentifier
    let tag: ConnectionTag

    init(_ tag: ConnectionTag, of mailbox: LoopMailbox) {
      loop = ObjectIdentifier(mailbox)
      self.tag = tag
    }
  }

  private struct State {
    var jobs = PageJobQueue<Owner, Job>()
    var isStopping = false
  }

  let cache: any PageCache
  private let state = Mutex(State())
  private let jobsAvailable = Semaphore()

  init(_ cache: any PageCache) {
    self.cache = cache
  }

  func fetch(_ job: Job) {
    state.locked { $0.jobs.append(job, for: Owner(job.tag, of: job.mailbox), isAhead: job.isAhead) }
    jobsAvailable.signal()
  }

  /// A response waits for what was to be read ahead for its connection.
  func expedite(_ tag: ConnectionTag, of mailbox: LoopMailbox) {
    state.locked { $0.jobs.promote(Owner(tag, of: mailbox)) }
  }

  /// The connection is gone: what was to be read for it is not, and its file is let go.
  func cancel(_ tag: ConnectionTag, of mailbox: LoopMailbox) {
    _ = state.locked { $0.jobs.removeAll(of: Owner(tag, of: mailbox)) }
  }

  /// Jobs that no thread has begun.
  var waitingCount: Int { state.locked { $0.jobs.count } }

  /// Ends the threads after their current jobs; those that wait are left, since their loops have ended.
  func stop(threads: Int) {
    state.locked { $0.isStopping = true }
    for _ in 0..<threads { jobsAvailable.signal() }
  }

  /// The body of one of the threads.
  func run() {
    // Of this thread alone. Where it is not allowed, the threads compete with the loops as equals.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
    while true {
      jobsAvailable.wait()
      let (job, isStopping) = state.locked { ($0.isStopping ? nil : $0.jobs.takeFirst(), $0.isStopping) }
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
/// key, which stands for a connection, has at most one of each at a time, and none once it was removed: so the order is
/// fair, and the number bounded by that of connections.
struct PageJobQueue<Key: Hashable, Job> {
  private struct Line {
    /// Nil where one was taken or removed.
    private var places: [(key: Key, job: Job)?] = []
    private var first = 0
    /// Where the job of each key is.
    private var indices: [Key: Int] = [:]

    var count: Int { indices.count }

    mutating func append(_ job: Job, for key: Key) {
      indices[key] = places.count
      places.append((key, job))
    }

    mutating func takeFirst() -> Job? {
      while first < places.count {
        let place = places[first]
        first += 1
        if let place { return remove(place.key) }
      }
      return nil
    }

    mutating func remove(_ key: Key) -> Job? {
      guard let index = indices.removeValue(forKey: key) else { return nil }
      let job = places[index]?.job
      places[index] = nil
      if places.count > 2 * indices.count + Self.slack { closeGaps() }
      return job
    }

    /// Gaps are closed when there are more of them than of jobs, and than this.
    private static var slack: Int { 16 }

    private mutating func closeGaps() {
      places.removeAll { $0 == nil }
      first = 0
      for index in places.indices {
        if let place = places[index] { indices[place.key] = index }
      }
    }
  }

  private var waited = Line()
  private var ahead = Line()

  /// Jobs that wait.
  var count: Int { waited.count + ahead.count }

  mutating func append(_ job: Job, for key: Key, isAhead: Bool) {
    if isAhead { ahead.append(job, for: key) } else { waited.append(job, for: key) }
  }

  mutating func takeFirst() -> Job? { waited.takeFirst() ?? ahead.takeFirst() }

  /// Puts the key's job that is only read ahead behind those that responses wait for, if there is one.
  mutating func promote(_ key: Key) {
    if let job = ahead.remove(key) { waited.append(job, for: key) }
  }

  /// Takes the key's jobs out, wherever they are.
  mutating func removeAll(of key: Key) -> [Job] {
    [waited.remove(key), ahead.remove(key)].compactMap { $0 }
  }
}
