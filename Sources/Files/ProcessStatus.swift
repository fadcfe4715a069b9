internal import CLinux
public import CoreTypes
internal import Glibc
public import SystemCalls

/// The kernel's figures about a process (proc(5)).
public struct ProcessStatus: Hashable, Sendable {
  /// The processor time of all its threads, in user and kernel mode.
  public let processorTime: Duration
  /// When it began, by the wall clock of now.
  public let started: Timestamp
  /// Threads that run or wait.
  public let threads: Int
  /// The size of the address space.
  public let virtualMemory: ByteCount
  /// The part of the address space that is in memory.
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
    let ticks = Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let sinceBoot = Duration.milliseconds(status.start * 1000 / ticks) - .nanoseconds(clinux_boottime())
    return ProcessStatus(
      processorTime: .milliseconds(status.ticks * 1000 / ticks),
      started: Timestamp(millisecondsSinceEpoch: clinux_realtime() / 1_000_000) + sinceBoot,
      threads: status.threads, virtualMemory: ByteCount(status.virtualMemory),
      residentMemory: ByteCount(status.pages * Int64(sysconf(Int32(_SC_PAGESIZE)))),
      // The list is read through one of them.
      openFiles: max(0, try FileSystem.list("/proc/self/fd").count - 1),
      maximumFiles: try DescriptorLimit.current())
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

/// How many file descriptors this process may have open (`RLIMIT_NOFILE`).
public enum DescriptorLimit {
  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }

  /// The limit that counts.
  public static func current() throws(SystemError) -> Int {
    Int(clamping: try limits().rlim_cur)
  }

  /// Raises the limit to the one that it may be raised to without a privilege, and returns it: shells begin programs with
  /// 1,024, for the sake of those that still use select(2).
  @discardableResult
  public static func raise() throws(SystemError) -> Int {
    var limits = try limits()
    if limits.rlim_cur < limits.rlim_max {
      limits.rlim_cur = limits.rlim_max
      try SystemCall.run("setrlimit") { unsafe setrlimit(resource, &limits) }
    }
    return Int(clamping: limits.rlim_cur)
  }

  private static func limits() throws(SystemError) -> rlimit {
    var limits = rlimit()
    try SystemCall.run("getrlimit") { unsafe getrlimit(resource, &limits) }
    return limits
  }
}
