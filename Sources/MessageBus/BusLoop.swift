import CLinux
import CMessageBus
import CoreTypes
import Glibc
import SystemCalls

/// Runs one connection to a bus on one thread. Everything here belongs to that thread; others reach it through its mailbox. Without
/// something to do the thread waits in poll(2) without a time-out: for the bus, for a command, or for the bus's socket to appear.
final class BusLoop {
  let mailbox: BusMailbox
  let service: BusName?
  /// The calls of others, for the one who answers them.
  let requests: BusQueue<BusRequest>
  private let address: String
  let backoff: Backoff

  /// The connection; nil between two tries.
  private(set) var handle: BusHandle?
  /// Messages that sd-bus has not been given yet, the oldest first.
  private var outgoing: [OutgoingMessage] = []
  /// By the number of the call's message.
  var calls: [UInt64: SentCall] = [:]
  var subscriptions: [Int: SubscriptionRecord] = [:]
  var owners: [BusName: NameOwner] = [:]
  /// The calls of others that have no answer yet, by their tokens.
  var unanswered: [Int: UnansweredCall] = [:]
  /// The calls of those whose user the bus has not told yet, in order.
  var arrivals: [BusName: [ArrivedCall]] = [:]
  var state = BusState()
  /// The messages that came, of all connections.
  var received: UInt64 = 0

  private var failures = 0
  private var connectedAt: Int64 = 0
  private var retryTime: Int64?
  /// How often in a row the bus has refused the service's name, and when it is asked for again.
  var nameFailures = 0
  var nameRetryTime: Int64?
  private var isWoken = false

  /// The steps of sd-bus in one turn, before commands have theirs.
  private static let stepsOfTurn = 64
  /// A connection that lasts so long was no failure, in nanoseconds.
  private static let lasting: Int64 = 10_000_000_000

  private init(address: String, configuration: BusConfiguration) throws(BusError) {
    try BusLibrary.prepare()
    self.address = address
    service = configuration.service
    backoff = configuration.backoff
    mailbox = try BusMailbox()
    requests = BusQueue(bound: Self.boundOfRequests)
  }

  /// Starts a thread; closing the mailbox ends it.
  static func start(
    address: String, configuration: BusConfiguration
  ) throws(BusError) -> (mailbox: BusMailbox, requests: BusQueue<BusRequest>) {
    let loop = try BusLoop(address: address, configuration: configuration)
    let (mailbox, requests) = (loop.mailbox, loop.requests)
    let target = unsafe Unmanaged.passRetained(loop)
    var thread = pthread_t()
    let result = unsafe pthread_create(&thread, nil, runBusLoop, target.toOpaque())
    guard result == 0 else {
      unsafe target.release()
      throw BusError(.internalFailure, "pthread_create: error \(result)")
    }
    pthread_detach(thread)
    return (mailbox, requests)
  }

  fileprivate func run() {
    connect()
    while turn() {}
    end()
  }

  /// One turn: what was asked, what sd-bus can do, then the wait for more. False once the mailbox is closed.
  private func turn() -> Bool {
    let (commands, isClosing) = mailbox.commands.collect(isWoken: isWoken)
    isWoken = false
    for command in commands { execute(command) }
    let hasMore = advance()
    expireCalls()
    if isClosing { return false }
    wait(hasMore: hasMore)
    return true
  }

  /// True where sd-bus has more to do at once.
  private func advance() -> Bool {
    if let retryTime, retryTime <= clinux_monotonic_time() {
      self.retryTime = nil
      connect()
    }
    if let service, let time = nameRetryTime, time <= clinux_monotonic_time() {
      nameRetryTime = nil
      requestName(service)
    }
    guard let handle else { return false }
    do throws(BusError) {
      var steps = 0
      while steps < Self.stepsOfTurn, try handle.process() { steps += 1 }
      if state.uniqueName == nil, try handle.isReady() { becomeReady() }
      try flush(handle)
      return steps == Self.stepsOfTurn
    } catch {
      lose(error)
      return false
    }
  }

  private func wait(hasMore: Bool) {
    var descriptors = [pollfd(fd: mailbox.commands.wakeUp.number, events: Int16(POLLIN), revents: 0)]
    var time = [retryTime, nameRetryTime, nextDeadline()].compactMap { $0 }.min()
    if let handle {
      do throws(BusError) {
        var events = try handle.events()
        if !outgoing.isEmpty, state.isConnected { events |= Int16(POLLOUT) }
        descriptors.append(pollfd(fd: try handle.descriptor(), events: events, revents: 0))
        if let wakeUp = try handle.wakeUpTime() { time = min(time ?? wakeUp, wakeUp) }
      } catch {
        lose(error)
        return
      }
    }
    var milliseconds: Int32 = -1
    if hasMore {
      milliseconds = 0
    } else if let time {
      // Not before the time: a turn that comes early would do nothing.
      let left = max(0, time - clinux_monotonic_time())
      milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
    }
    // Interrupted is as good as woken; no other result is possible with descriptors of ours.
    _ = unsafe poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    isWoken = descriptors[0].revents != 0
  }

  // MARK: the connection

  private func connect() {
    do throws(BusError) {
      let context = unsafe Unmanaged.passUnretained(self).toOpaque()
      handle = try unsafe BusHandle(address: address, handler: receiveBusMessage, context: context)
    } catch {
      lose(error)
    }
  }

  private func becomeReady() {
    connectedAt = clinux_monotonic_time()
    state = BusState(uniqueName: handle?.uniqueName())
    if let service { requestName(service) }
    mailbox.tell(state)
    for (name, owner) in owners { install(owner, of: name) }
    for record in subscriptions.values { addMatch(record) }
  }

  /// The connection is gone: what waits for an answer fails, what waits to be sent and is no call is dropped, and another try follows.
  private func lose(_ error: BusError) {
    let hasLasted = state.isConnected && clinux_monotonic_time() - connectedAt > Self.lasting
    failures = hasLasted ? 1 : failures + 1
    unanswered = [:]
    arrivals = [:]
    nameFailures = 0
    nameRetryTime = nil
    handle = nil
    state = BusState()
    let lost = BusError(.disconnected, error.message)
    for call in calls.values { finish(call, .failure(lost)) }
    calls = [:]
    let waiting = outgoing
    outgoing = []
    for message in waiting {
      if case .call(let call) = message, case .caller = call.purpose {
        outgoing.append(message)
      } else {
        discard(message)
      }
    }
    for name in owners.keys { setOwner(nil, of: name) }
    mailbox.tell(state)
    let delay = backoff.delay(afterFailures: failures).nanoseconds
    retryTime = clinux_monotonic_time() + delay
  }

  private func end() {
    for command in mailbox.seal() { execute(command) }
    for call in calls.values { finish(call, .failure(BusMailbox.closedError)) }
    calls = [:]
    for message in outgoing {
      if case .call(let call) = message { finish(call, .failure(BusMailbox.closedError)) }
      discard(message)
    }
    outgoing = []
    for record in subscriptions.values { record.queue.finish() }
    requests.finish()
    unanswered = [:]
    arrivals = [:]
    handle = nil
  }

  // MARK: sending

  /// Puts a message behind those that wait.
  func enqueue(_ message: OutgoingMessage) { outgoing.append(message) }

  /// Gives sd-bus one message after another, as long as the kernel takes them.
  private func flush(_ handle: BusHandle) throws(BusError) {
    guard state.isConnected else { return }
    var sent = 0
    defer { outgoing.removeFirst(sent) }
    while sent < outgoing.count, try handle.hasSentAll() {
      let message = outgoing[sent]
      sent += 1
      try send(message, by: handle)
    }
  }

  /// A message that sd-bus refuses fails alone; a connection that is gone throws.
  private func send(_ message: OutgoingMessage, by handle: BusHandle) throws(BusError) {
    defer { discard(message) }
    do throws(BusError) {
      switch message {
      case .call(let call):
        do throws(BusError) {
          calls[try handle.send(try handle.makeCall(call.call))] = call
        } catch {
          finish(call, .failure(error))
          throw error
        }
      case .signal(let signal, let destination, _):
        _ = try handle.send(try handle.makeSignal(signal, to: destination))
      case .answer(let request, let reply, _, _):
        _ = try handle.send(try request.makeAnswer(reply))
      }
    } catch {
      if error.code == .disconnected { throw error }
    }
  }

  /// Counts the message as sent.
  private func discard(_ message: OutgoingMessage) {
    switch message {
    case .call(let call): mailbox.release(call.length, for: call.call.destination)
    case .signal(_, let destination, let length): mailbox.release(length, for: destination)
    case .answer(_, _, let key, let length): mailbox.release(length, for: key)
    }
  }

  /// Takes a call that waits to be sent, or for its answer, out of its list; nil where it has ended.
  func takeCall(_ identifier: Int) -> SentCall? {
    for (index, message) in outgoing.enumerated() {
      guard case .call(let call) = message, call.isOfCaller(identifier) else { continue }
      outgoing.remove(at: index)
      discard(message)
      return call
    }
    guard let sent = calls.first(where: { $0.value.isOfCaller(identifier) }) else { return nil }
    return calls.removeValue(forKey: sent.key)
  }

  private func nextDeadline() -> Int64? {
    var next = calls.values.lazy.map(\.deadline).min()
    for case .call(let call) in outgoing { next = min(next ?? call.deadline, call.deadline) }
    return next
  }

  private func expireCalls() {
    guard let next = nextDeadline() else { return }
    let now = clinux_monotonic_time()
    guard next <= now else { return }
    for (cookie, call) in calls where call.deadline <= now {
      calls[cookie] = nil
      finish(call, .failure(BusError(.timedOut, "no answer came in time")))
    }
    let waiting = outgoing
    outgoing = []
    for message in waiting {
      guard case .call(let call) = message, call.deadline <= now else {
        outgoing.append(message)
        continue
      }
      discard(message)
      finish(call, .failure(BusError(.notConnected, "there was no connection to the bus in time")))
    }
  }
}

/// A message that waits to be given to sd-bus.
enum OutgoingMessage {
  case call(SentCall)
  case signal(BusSignal, destination: BusName?, length: Int)
  /// `key` and `length` are what was counted for it.
  case answer(to: MessageHandle, BusReply, key: BusName?, length: Int)
}

/// A call on its way.
struct SentCall {
  /// The one who waits for the answer.
  enum Purpose {
    /// A caller of ``BusConnection``.
    case caller(Int, @Sendable (Result<[BusValue], BusError>, UInt64) -> Void)
    /// The loop, which asked who owns the name.
    case owner(BusName)
    /// The loop, for the subscription.
    case match(Int)
    /// The loop, which asked for the service's name.
    case service
    /// The loop, which asked for the user of a caller.
    case user(BusName)
    /// The loop, which needs no answer.
    case nothing
  }

  let call: BusMethodCall
  let purpose: Purpose
  /// Bytes that were counted for it.
  let length: Int
  /// Nanoseconds of CLOCK_MONOTONIC.
  let deadline: Int64

  func isOfCaller(_ identifier: Int) -> Bool {
    if case .caller(identifier, _) = purpose { true } else { false }
  }
}

/// The thread's body. It takes no signals: those are for the threads that wait for them.
private func runBusLoop(_ target: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  var all = sigset_t()
  unsafe sigfillset(&all)
  unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  unsafe clinux_name_thread("message-bus")
  if let target = unsafe target {
    unsafe Unmanaged<BusLoop>.fromOpaque(target).takeRetainedValue().run()
  }
  return nil
}

/// The filter of each connection. 1 for a message that is dealt with, 0 for one that the library answers. The message is valid inside.
private func receiveBusMessage(
  _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?
) -> Int32 {
  guard let message = unsafe message, let context = unsafe context else { return 0 }
  let loop = unsafe Unmanaged<BusLoop>.fromOpaque(context).takeUnretainedValue()
  return unsafe loop.receive(message) ? 1 : 0
}
