internal import CLinux
internal import Glibc
public import SystemCalls

/// Tells when files or directories of some names may have gone: when one is removed or renamed, its directory is, or file systems of this
/// machine are mounted or unmounted. It may tell too often, and it does not tell what becomes of a file system that ends by itself: who rests on
/// it looks now and then all the same. One thread of its own waits for the kernel, and wakes up for nothing else.
public final class DisappearanceWatch: Sendable {
  private let waits: KernelNews

  /// - Parameters:
  ///   - directories: those that are there now, each with the names in it. Throws what inotify_add_watch(2) throws for one that is not.
  ///   - tell: called on the thread of the watch.
  public init(
    of directories: [(path: String, names: Set<String>)], _ tell: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    waits = try KernelNews(of: directories, tell)
    BlockingPool(name: "disappearance", threads: 1).enqueue { [waits] in waits.run() }
  }

  deinit { waits.stop() }
}

/// The descriptors; it outlives the watch until its thread has seen that it is to end.
private final class KernelNews: Sendable {
  private let changes: FileDescriptor
  /// Ready whenever the table of mounts is another one (proc_pid_mountinfo(5)).
  private let mounts: FileDescriptor
  private let stopping: FileDescriptor
  private let names: [Int32: Set<String>]
  private let tell: @Sendable () -> Void

  init(
    of directories: [(path: String, names: Set<String>)], _ tell: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    changes = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("inotify_init1") {
        inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
      })
    mounts = try FileDescriptor.open("/proc/self/mountinfo", .readOnly)
    stopping = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    var names: [Int32: Set<String>] = [:]
    let number = changes.number
    let kinds = UInt32(IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
    for (path, own) in directories {
      let watch = try SystemCall.run("inotify_add_watch", subject: path) {
        unsafe inotify_add_watch(number, path, kinds)
      }
      names[watch] = own
    }
    self.names = names
    self.tell = tell
  }

  func stop() {
    _ = eventfd_write(stopping.number, 1)
  }

  func run() {
    var descriptors = [
      pollfd(fd: changes.number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: mounts.number, events: Int16(POLLPRI), revents: 0),
      pollfd(fd: stopping.number, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      // Interrupted is as good as told of nothing.
      guard unsafe poll(&descriptors, nfds_t(descriptors.count), -1) > 0 else { continue }
      if descriptors[2].revents != 0 { return }
      let isMounted = descriptors[1].revents != 0
      if (descriptors[0].revents != 0 && takeEvents()) || isMounted { tell() }
    }
  }

  /// Takes all events; whether one is of a name that counts, or some are lost.
  private func takeEvents() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let number = changes.number
    var hasGone = false
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe read(number, bytes.baseAddress, bytes.count)
      }
      guard count > 0 else { return hasGone }
      if tellsEnd(buffer[..<count]) { hasGone = true }
    }
  }

  /// `struct inotify_event`: the watch lies at 0, the kind at 4, the length of the name at 12, and the name, with zeros behind it, at 16.
  private func tellsEnd(_ events: ArraySlice<UInt8>) -> Bool {
    func number(_ position: Int) -> UInt32 {
      UInt32(littleEndian: (0..<4).reduce(0) { $0 | UInt32(events[position + $1]) << UInt32(8 * $1) })
    }
    var position = events.startIndex
    while position + 16 <= events.endIndex {
      let (watch, kind, length) = (number(position), number(position + 4), Int(number(position + 12)))
      let end = position + 16 + length
      guard end <= events.endIndex else { return true }
      let name = String(decoding: events[(position + 16)..<end].prefix { $0 != 0 }, as: UTF8.self)
      let isOfItself = kind & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_Q_OVERFLOW | IN_UNMOUNT) != 0
      if isOfItself || names[Int32(bitPattern: watch)]?.contains(name) == true { return true }
      position = end
    }
    return false
  }
}
