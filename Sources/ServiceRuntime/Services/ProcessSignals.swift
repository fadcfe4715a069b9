import CLinux
import Glibc
public import SystemCalls

/// Turns the process's signals into values. They are blocked in every thread and taken, one after the other,
/// by a thread that does nothing else, so that no code ever runs inside a signal handler.
public enum ProcessSignals {
  /// The signals that are taken, with their meanings.
  private static let numbers: [(Int32, ProcessSignal)] = [
    (SIGTERM, .terminate), (SIGINT, .interrupt), (SIGHUP, .reload),
  ]

  /// Call it once, first in `main`: threads inherit what is blocked from the one that starts them.
  /// From then on SIGPIPE is ignored, too; a closed peer is an error of write(2).
  public static func install() throws(SystemError) -> AsyncStream<ProcessSignal> {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for (number, _) in numbers { unsafe sigaddset(&set, number) }
    try check(unsafe pthread_sigmask(SIG_BLOCK, &set, nil), of: "pthread_sigmask")
    signal(SIGPIPE, SIG_IGN)
    // Signals come one by one and mean the same again; more than a few waiting ones say nothing new.
    let (stream, continuation) = AsyncStream.makeStream(
      of: ProcessSignal.self, bufferingPolicy: .bufferingOldest(16))
    let inbox = unsafe Unmanaged.passRetained(SignalInbox(continuation))
    var thread = pthread_t()
    let result = unsafe pthread_create(&thread, nil, waitForSignals, inbox.toOpaque())
    if result != 0 { unsafe inbox.release() }
    try check(result, of: "pthread_create")
    pthread_detach(thread)
    return stream
  }

  /// Throws for the number that a call of pthreads answers in place of errno.
  private static func check(_ result: Int32, of call: String) throws(SystemError) {
    guard result == 0 else { throw SystemError(number: result, call: call) }
  }

  /// Takes signals in the thread of its own, one at a time. A process has one such thread.
  fileprivate static func waitForever(_ inbox: SignalInbox) -> Never {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for (number, _) in numbers { unsafe sigaddset(&set, number) }
    while true {
      var number: Int32 = 0
      // The only failures are a set without signals, which this is not, and interruptions.
      guard unsafe sigwait(&set, &number) == 0 else { continue }
      if let meaning = numbers.first(where: { $0.0 == number })?.1 { inbox.continuation.yield(meaning) }
    }
  }
}

/// The way from the thread of signals to the stream.
private final class SignalInbox: Sendable {
  /// The stream's end that is written to.
  let continuation: AsyncStream<ProcessSignal>.Continuation

  /// An inbox of that stream.
  init(_ continuation: AsyncStream<ProcessSignal>.Continuation) {
    self.continuation = continuation
  }
}

/// The start of the thread, which takes over the reference to its inbox.
private func waitForSignals(_ target: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let target = unsafe target else { return nil }
  unsafe clinux_name_thread("signals")
  ProcessSignals.waitForever(unsafe Unmanaged<SignalInbox>.fromOpaque(target).takeRetainedValue())
}

/// A signal by which an operator, a user or a service manager asks something of a process.
public enum ProcessSignal: Hashable, Sendable {
  /// SIGTERM.
  case terminate
  /// SIGINT, Ctrl-C.
  case interrupt
  /// SIGHUP.
  case reload
}
