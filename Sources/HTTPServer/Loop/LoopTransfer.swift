internal import SystemCalls

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
