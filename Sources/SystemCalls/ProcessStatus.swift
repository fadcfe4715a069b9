internal import CLinux
public import CoreTypes
internal import Glibc

/// What the kernel knows of a process (proc(5)).
public struct ProcessStatus: Hashable, Sendable {
  /// Of all its threads, in user and kernel mode.
  public let processorTime: Duration
  /// When it began, by the wall clock of now.
  public let started: Timestamp
  /// Threads that run or wait.
  public let threads: Int
  /// Addresses that mean something.
  public let virtualMemory: ByteCount
  /// What of it is in memory.
  public let residentMemory: ByteCount
  /// File descriptors that are open.
  public let openFiles: Int
  /// File descriptors that may be open (`RLIMIT_NOFILE`).
  public let maximumFiles: Int

  /// This process. Blocks. Throws where /proc is not there, or not in the form of proc(5) (`EPROTO`).
  public static func current() throws(SystemError) -> ProcessStatus {
    let path = "/proc/self/stat"
    let text = String(decoding: try FileSystem.read(path, upTo: .kibibytes(16)), as: UTF8.self)
    guard let status = Status(text) else { throw SystemError(number: EPROTO, call: "read", subject: path) }
    var limit = rlimit()
    try SystemCall.run("getrlimit") { unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    let ticks = Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let sinceBoot = Duration.milliseconds(status.start * 1000 / ticks) - .nanoseconds(clinux_boottime())
    return ProcessStatus(
      processorTime: .milliseconds(status.ticks * 1000 / ticks),
      started: Timestamp(millisecondsSinceEpoch: clinux_realtime() / 1_000_000) + sinceBoot,
      threads: status.threads, virtualMemory: ByteCount(status.virtualMemory),
      residentMemory: ByteCount(status.pages * Int64(sysconf(Int32(_SC_PAGESIZE)))),
      // The list is read through one of them.
      openFiles: max(0, try FileSystem.list("/proc/self/fd").count - 1),
      maximumFiles: Int(clamping: limit.rlim_cur))
  }

  /// The fields of /proc/PID/stat that count here.
  struct Status {
    let ticks: Int64
    let threads: Int
    let start: Int64
    let virtualMemory: Int64
    let pages: Int64

    /// Nil when it is not in that form. The second field is the program's name in parentheses, which may hold anything.
    init?(_ text: String) {
      guard let end = text.lastIndex(of: ")") else { return nil }
      // The first of these is the third field.
      let fields = text[text.index(after: end)...].split(separator: " ").map { Int64($0) }
      guard fields.count > 21, let user = fields[11], let system = fields[12], let threads = fields[17],
        let start = fields[19], let virtualMemory = fields[20], let pages = fields[21]
      else { return nil }
      ticks = user + system
      self.threads = Int(threads)
      self.start = start
      self.virtualMemory = virtualMemory
      self.pages = pages
    }
  }
}
