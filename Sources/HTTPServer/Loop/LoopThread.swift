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
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiters.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  fileprivate func run() {
    blockSignals()
    body()
    let waiters = state.withLock { state in
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
