internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Hands news from any thread to a loop, and wakes it.
final class LoopMailbox: Sendable {
  enum Message: Sendable {
    /// The exchange has something for its connection.
    case news(Exchange)
    /// The pages a connection waits for are in memory.
    case pagesReady(ConnectionTag)
    /// Connections whose running body carries the meter are to be reset.
    case abortBodies(any BodyMeter)
    case drain
  }

  private let messages = Mutex<[Message]>([])
  /// Becomes readable with each message.
  let event: FileDescriptor

  init() throws(SystemError) {
    event = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
  }

  func post(_ message: Message) {
    let wasEmpty = messages.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if wasEmpty { ring() }
  }

  /// Wakes the loop without news.
  func ring() {
    // Fails only when the counter is full, and then the loop is awake anyway.
    _ = eventfd_write(event.number, 1)
  }

  /// Everything posted since the last call.
  func take() -> [Message] {
    var count: eventfd_t = 0
    // Nothing to read is no error: the messages count.
    _ = unsafe eventfd_read(event.number, &count)
    return messages.withLock { messages in
      let taken = messages
      messages = []
      return taken
    }
  }
}
