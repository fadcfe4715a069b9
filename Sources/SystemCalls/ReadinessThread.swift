internal import CLinux
import CoreTypes
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors on behalf of tasks, so that a task that waits for the kernel costs no wake-up until something
/// comes. The thread begins with the first wait and ends with this object.
public final class ReadinessThread: Sendable {
  /// The state that is waited for.
  public enum Interest: Sendable {
    /// There is something to read.
    case readable
    /// `EPOLLPRI`: a trigger has fired.
    case triggered
  }

  private let waits: Waits
  private let pool: BlockingPool
  private let isStarted = Mutex(false)

  /// `name` is what `top -H` shows: its first 15 bytes. Throws where the system has no epoll instance to give.
  public init(name: String) throws(SystemError) {
    waits = try Waits()
    pool = BlockingPool(name: name, threads: 1)
  }

  deinit {
    waits.stop()
  }

  /// Waits until the descriptor is ready; it has to stay open meanwhile, and one task waits for it at a time. False when the task was
  /// cancelled, or the descriptor cannot be waited for.
  public func wait(for descriptor: Int32, _ interest: Interest = .readable) async -> Bool {
    let isFirst = isStarted.locked { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    if isFirst { pool.enqueue { [waits] in waits.run() } }
    let tag = waits.nextTag()
    defer { waits.forget(tag) }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waits.begin(tag, descriptor, interest, $0) }
    } onCancel: {
      waits.end(tag, isReady: false)
    }
  }
}

/// The waits of all tasks. It outlives the thread's owner until the thread has seen that it is to end.
private final class Waits: Sendable {
  private struct State {
    var waiting: [UInt64: (descriptor: Int32, continuation: CheckedContinuation<Bool, Never>)] = [:]
    /// Those that were ended before they began.
    var cancelled: Set<UInt64> = []
    var tags: UInt64 = 0
  }

  private let epoll: FileDescriptor
  private let stopping: FileDescriptor
  private let state = Mutex(State())

  init() throws(SystemError) {
    epoll = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    stopping = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    var event = unsafe clinux_epoll_event(EPOLLIN.rawValue, 0)
    let (number, stop) = (epoll.number, stopping.number)
    try SystemCall.run("epoll_ctl") { unsafe epoll_ctl(number, EPOLL_CTL_ADD, stop, &event) }
  }

  func stop() {
    _ = eventfd_write(stopping.number, 1)
  }

  func nextTag() -> UInt64 {
    state.locked { state in
      state.tags += 1
      return state.tags
    }
  }

  func begin(
    _ tag: UInt64, _ descriptor: Int32, _ interest: ReadinessThread.Interest,
    _ continuation: CheckedContinuation<Bool, Never>
  ) {
    let isWaiting = state.locked { state -> Bool in
      guard state.cancelled.remove(tag) == nil else { return false }
      let bits = interest == .readable ? EPOLLIN.rawValue : EPOLLPRI.rawValue
      var event = unsafe clinux_epoll_event(bits, tag)
      guard unsafe epoll_ctl(epoll.number, EPOLL_CTL_ADD, descriptor, &event) == 0 else { return false }
      state.waiting[tag] = (descriptor, continuation)
      return true
    }
    if !isWaiting { continuation.resume(returning: false) }
  }

  /// No one waits by that tag any more.
  func forget(_ tag: UInt64) {
    state.locked { state in _ = state.cancelled.remove(tag) }
  }

  func end(_ tag: UInt64, isReady: Bool) {
    let ended = state.locked { state -> CheckedContinuation<Bool, Never>? in
      guard let wait = state.waiting.removeValue(forKey: tag) else {
        if !isReady { state.cancelled.insert(tag) }
        return nil
      }
      var event = unsafe epoll_event()
      _ = unsafe epoll_ctl(epoll.number, EPOLL_CTL_DEL, wait.descriptor, &event)
      return wait.continuation
    }
    ended?.resume(returning: isReady)
  }

  func run() {
    var events = unsafe [epoll_event](repeating: epoll_event(), count: 16)
    while true {
      let count = unsafe events.withUnsafeMutableBufferPointer { events in
        unsafe epoll_wait(epoll.number, events.baseAddress, Int32(events.count), -1)
      }
      for index in 0..<max(0, Int(count)) {
        let tag = unsafe clinux_epoll_tag(&events[index])
        guard tag != 0 else { return }
        end(tag, isReady: true)
      }
    }
  }
}
