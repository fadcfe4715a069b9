import CoreTypes
import Synchronization
import SystemCalls

/// Carries commands from any thread to the loop, in order, and counts what waits to be sent to each connection.
final class BusMailbox: Sendable {
  /// Bytes that wait for one destination; a single message may be longer where nothing else waits.
  static let boundOfDestination = 256 << 10
  /// Bytes that wait for all of them.
  static let boundOfAll = 8 << 20
  /// Calls that wait for their answers.
  static let boundOfCalls = 1024

  private struct State {
    var lastIdentifier = 0
    var waiting: [BusName?: Int] = [:]
    var waitingInAll = 0
    var calls = 0
    var bus = BusState()
    var watchers: [Int: AsyncStream<BusState>.Continuation] = [:]
  }

  private let state = Mutex(State())
  let commands: CommandMailbox<BusCommand>

  init() throws(BusError) {
    do {
      commands = try CommandMailbox()
    } catch {
      throw BusError(.internalFailure, "\(error)")
    }
  }

  func newIdentifier() -> Int {
    state.locked { state in
      state.lastIdentifier += 1
      return state.lastIdentifier
    }
  }

  // MARK: what waits to be sent

  /// Posts a signal. `key` is whom it waits for; nil for one to all. Throws `queueFull`, `closed`.
  func post(_ signal: BusSignal, to destination: BusName?) throws(BusError) {
    let length = try BusValue.length(of: signal.arguments, within: .message) + Self.overhead
    try reserve(length, for: destination)
    post(.signal(signal, destination: destination, length: length))
  }

  /// Posts an answer. Throws `invalidValue`, `tooLarge`, `queueFull`, `closed`.
  func post(answer reply: BusReply, to token: Int, of sender: BusName) throws(BusError) {
    var length = Self.overhead
    if case .values(let values) = reply { length += try BusValue.length(of: values, within: .answer) }
    try reserve(length, for: sender)
    post(.answer(token, reply, key: sender, length: length))
  }

  /// Posts a call, whose completion is called once. Throws `invalidValue`, `tooLarge`, `queueFull`, `closed`.
  func post(_ call: PendingCall) throws(BusError) {
    try state.locked { state throws(BusError) in
      guard state.calls < Self.boundOfCalls else {
        throw BusError(.queueFull, "too many calls wait for their answers")
      }
      state.calls += 1
    }
    do throws(BusError) {
      try reserve(call.length, for: call.call.destination)
    } catch {
      callEnded()
      throw error
    }
    post(.call(call))
  }

  /// The least that a message takes beside its values.
  static let overhead = 128

  private func reserve(_ length: Int, for destination: BusName?) throws(BusError) {
    guard commands.isOpen else { throw Self.closedError }
    try state.locked { state throws(BusError) in
      let waiting = state.waiting[destination] ?? 0
      guard waiting == 0 || waiting + length <= Self.boundOfDestination,
        state.waitingInAll + length <= Self.boundOfAll
      else { throw BusError(.queueFull, "too much waits to be sent") }
      state.waiting[destination] = waiting + length
      state.waitingInAll += length
    }
  }

  /// The message has left for the bus, or never will.
  func release(_ length: Int, for destination: BusName?) {
    guard length > 0 else { return }
    state.locked { state in
      let rest = (state.waiting[destination] ?? 0) - length
      state.waiting[destination] = rest > 0 ? rest : nil
      state.waitingInAll -= length
    }
  }

  func callEnded() { state.locked { $0.calls -= 1 } }

  // MARK: commands

  func post(_ command: BusCommand) {
    guard !commands.post(command) else { return }
    switch command {
    case .call(let call):
      callEnded()
      call.completion(.failure(Self.closedError), 0)
    case .subscribe(let record): record.queue.finish()
    case .cancel, .signal, .answer, .unsubscribe: break
    }
  }

  func close() { commands.close() }

  /// After this nothing is accepted any more. Returns the commands that will not run.
  func seal() -> [BusCommand] {
    let rest = commands.seal()
    let watchers = state.locked { state in
      state.bus = BusState()
      defer { state.watchers = [:] }
      return state.watchers.values.map { $0 }
    }
    for watcher in watchers { watcher.finish() }
    return rest
  }

  static let closedError = BusError(.closed, "the connection to the bus was closed")

  // MARK: the state of the bus

  var bus: BusState { state.locked { $0.bus } }

  /// Tells the new state to those who watch it.
  func tell(_ bus: BusState) {
    let watchers = state.locked { state in
      guard state.bus != bus else { return [AsyncStream<BusState>.Continuation]() }
      state.bus = bus
      return state.watchers.values.map { $0 }
    }
    for watcher in watchers { watcher.yield(bus) }
  }

  /// The state now and each later one that is read in time.
  func states() -> AsyncStream<BusState> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let identifier = newIdentifier()
      continuation.onTermination = { [weak self] _ in
        self?.state.locked { _ = $0.watchers.removeValue(forKey: identifier) }
      }
      let isOver = state.locked { state in
        // Under the lock, so that no later state is overtaken by this one.
        continuation.yield(state.bus)
        guard !commands.isSealed else { return true }
        state.watchers[identifier] = continuation
        return false
      }
      if isOver { continuation.finish() }
    }
  }
}

/// A command of another thread to the loop.
enum BusCommand: Sendable {
  case call(PendingCall)
  case cancel(Int)
  case signal(BusSignal, destination: BusName?, length: Int)
  /// The answer to the request of that token. `key` and `length` are what was counted for it.
  case answer(Int, BusReply, key: BusName?, length: Int)
  case subscribe(SubscriptionRecord)
  case unsubscribe(Int)
}

/// A call that the loop is asked to send. Its result, and how many messages had come by then, go to `completion`, which is called exactly once.
struct PendingCall: Sendable {
  let identifier: Int
  let call: BusMethodCall
  let length: Int
  /// Nanoseconds of CLOCK_MONOTONIC at which it is given up.
  let deadline: Int64
  let completion: @Sendable (Result<[BusValue], BusError>, UInt64) -> Void
}
