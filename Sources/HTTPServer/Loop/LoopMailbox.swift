internal import CLinux
import CoreTypes
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Hands messages from any thread to a loop, and wakes it.
final class LoopMailbox: Sendable {
  enum Message: Sendable {
    /// The exchange has something for its connection.
    case exchangeChanged(Exchange)
    /// The pages a connection waits for are in memory, or cannot be read.
    case pagesReady(ConnectionTag, SystemError?)
    /// The pages that were read ahead for a connection are in memory, or cannot be read.
    case pagesAhead(ConnectionTag, SystemError?)
    /// The part of a file that a connection waits for is there, or does not come.
    case partReady(ConnectionTag, isThere: Bool)
    /// Connections whose running body carries one of the meters are to be reset.
    case abortBodies(MeterSet)
    /// Connections that wait for a request, and the inline handler, let go of the files that they keep open for it.
    case releaseIdleFiles
    /// A connection that another loop has accepted for this one, which closes it.
    case accepted(AcceptedConnection)
    /// Resumes the continuation: proof that the loop still turns.
    case ping(CheckedContinuation<Void, Never>)
    case drain
  }

  private struct State {
    var messages: [Message] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Becomes readable with each message.
  let event: FileDescriptor

  init() throws(SystemError) {
    event = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
  }

  /// False when the loop has ended and will not read it.
  @discardableResult
  func post(_ message: Message) -> Bool {
    let (wasEmpty, isClosed) = state.locked { state in
      if state.isClosed { return (false, true) }
      state.messages.append(message)
      return (state.messages.count == 1, false)
    }
    if wasEmpty { wake() }
    return !isClosed
  }

  /// Takes no more messages; false, and open still, while there are some to be read.
  func close() -> Bool {
    state.locked { state in
      state.isClosed = state.messages.isEmpty
      return state.isClosed
    }
  }

  /// Wakes the loop without a message.
  func wake() {
    // Fails only when the counter is full, and then the loop is awake anyway.
    _ = eventfd_write(event.number, 1)
  }

  /// Everything posted since the last call.
  func collectMessages() -> [Message] {
    var count: eventfd_t = 0
    // Nothing to read is no error: the messages count.
    _ = unsafe eventfd_read(event.number, &count)
    return state.locked { state in
      let taken = state.messages
      state.messages = []
      return taken
    }
  }
}

/// Meters by their identity, however many: a loop looks each of its connections up once.
struct MeterSet: Sendable {
  /// Keeps the meters, whose identities would otherwise be given to others.
  private let meters: [any BodyMeter]
  private let identities: Set<ObjectIdentifier>

  init(_ meters: [any BodyMeter]) {
    self.meters = meters
    identities = Set(meters.map { ObjectIdentifier($0) })
  }

  func contains(_ meter: any BodyMeter) -> Bool { identities.contains(ObjectIdentifier(meter)) }
}

/// A connection on its way from the loop that accepted it to the one that serves it.
struct AcceptedConnection: Sendable {
  let descriptor: Int32
  let peer: PeerAddress
  let isSecure: Bool
}

extension LoopMailbox: ExchangeObserver {
  func exchangeDidChange(_ exchange: Exchange) {
    post(.exchangeChanged(exchange))
  }
}
