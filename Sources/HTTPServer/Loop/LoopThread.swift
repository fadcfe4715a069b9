internal import CLinux
import CoreTypes
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// A thread whose end can be awaited.
final class LoopThread: Sendable {
  private struct State {
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  let isLoop: Bool
  private let body: @Sendable () -> Void
  private let state = Mutex(State())

  /// Starts it.
  init(isLoop: Bool, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    self.isLoop = isLoop
    self.body = body
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    // Retained here, released by the thread when it ends.
    let context = unsafe Unmanaged.passRetained(self)
    let result = unsafe pthread_create(&thread, &attributes, runLoopThread, context.toOpaque())
    if result != 0 {
      unsafe context.release()
      throw SystemError(number: result, call: "pthread_create")
    }
  }

  func end() async {
    await withCheckedContinuation { continuation in
      let hasEnded = state.locked { state in
        if !state.hasEnded { state.waiters.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  fileprivate func run() {
    blockSignals()
    unsafe clinux_name_thread(isLoop ? "http-loop" : "http-pages")
    body()
    let waiters = state.locked { state in
      state.hasEnded = true
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

/// Signals to the process are for the thread that waits for them; a loop would only lose time.
private func blockSignals() {
  var signals = sigset_t()
  unsafe sigemptyset(&signals)
  for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM] {
    unsafe sigaddset(&signals, signal)
  }
  unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}

private func runLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<LoopThread>.fromOpaque(context).takeRetainedValue().run()
  return nil
}

/// Carries a loop from the thread that makes it to the thread that runs it.
// Unchecked: one thread puts the loop in, and then only the one that calls run() touches it, once.
final class LoopTransfer: @unchecked Sendable {
  private var loop: EventLoop

  init(_ loop: consuming EventLoop) {
    self.loop = loop
  }

  func prepare() throws(SystemError) {
    try loop.prepare()
  }

  func run() {
    loop.run()
  }
}

/// A counting semaphore for threads (sem_init(3)); never wait for it on the cooperative pool.
// Unchecked: sem_t is made to be used by several threads at once, and its memory never moves. Safe: it owns
// that memory.
@safe
final class Semaphore: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func signal() {
    unsafe sem_post(semaphore)
  }

  func wait() {
    while unsafe sem_wait(semaphore) == -1 {}
  }
}
