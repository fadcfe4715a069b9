internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Brings cold pages of files into memory on threads of its own, so that no loop waits for a disk.
///
/// A loop asks ``isCached(_:range:)`` before each slice: preadv2(2) with `RWF_NOWAIT` answers at once whether
/// the slice's last page, and of a long slice the first as well, is in the page cache. If not, the loop gives
/// the slice to a thread here, which reads it (that is what waits), and goes on with other connections; a
/// note in the loop's mailbox brings the connection back. Where the file system does not know `RWF_NOWAIT`,
/// everything counts as cached.
final class PagePrefetcher: Sendable {
  struct Job: Sendable {
    let file: SharedDescriptor
    let range: Range<Int64>
    let tag: ConnectionTag
    let mailbox: LoopMailbox
  }

  private struct State {
    var jobs: [Job] = []
    var isStopping = false
  }

  private let state = Mutex(State())
  private let jobsAvailable = Semaphore()

  static func isCached(_ file: SharedDescriptor, range: Range<Int64>) -> Bool {
    guard clinux_is_cached(file.descriptor.number, off_t(range.upperBound - 1)) else { return false }
    // The kernel reads ahead by at least as much, so a short slice is cached as a whole or not at all.
    guard range.upperBound - range.lowerBound > 131_072 else { return true }
    return clinux_is_cached(file.descriptor.number, off_t(range.lowerBound))
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
    var buffer = [UInt8](repeating: 0, count: 131_072)
    while true {
      jobsAvailable.wait()
      let (job, isStopping) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isStopping)
      }
      if let job {
        read(job, into: &buffer)
        job.mailbox.post(.pagesReady(job.tag))
      } else if isStopping {
        return
      }
    }
  }

  private func read(_ job: Job, into buffer: inout [UInt8]) {
    let descriptor = job.file.descriptor.number
    var offset = job.range.lowerBound
    // Starts the device on all of it; only advice, so its answer does not matter.
    _ = posix_fadvise(
      descriptor, off_t(offset), off_t(job.range.upperBound - offset), POSIX_FADV_WILLNEED)
    while offset < job.range.upperBound {
      let wanted = min(buffer.count, Int(job.range.upperBound - offset))
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe pread(descriptor, $0.baseAddress, wanted, off_t(offset))
      }
      // An end or an error shows when the loop sends from the same place.
      guard count > 0 else { return }
      offset += Int64(count)
    }
  }
}
