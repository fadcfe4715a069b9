internal import CLinux
public import CoreTypes
public import Files
internal import Glibc
internal import Synchronization
public import SystemCalls

/// The kernel's file operations, some of which fail.
///
/// A call is made to fail by its kind (``fail(_:)``), by its number (``fail(call:number:)``), by a rule
/// (``answer(_:)``), or by what it writes (``failWrites(of:number:)``). From the call given to ``die(at:)`` on nothing is done any
/// more, as after SIGKILL.
public final class FaultyFileOperations: FileOperations {
  /// The operations that can fail.
  public typealias Step = FileCall

  /// The rules and the record of calls.
  private struct State {
    /// The kind of call that fails every time; nil for none.
    var failing: Step?
    /// The errno of ``failing``.
    var number: Int32
    /// The one call that fails, counted from 0, and its errno.
    var failingCall: (index: Int, number: Int32)?
    /// The index of the first call that is not made any more.
    var lastCall = Int.max
    /// The rule for a call of a kind on a subject, which answers an errno or nil.
    var rule: (@Sendable (FileCall, String) -> Int32?)?
    /// The length from which on writes fail, and their errno.
    var longWrites: (least: ByteCount, number: Int32)?
    /// All calls so far, in their order.
    var steps: [Step] = []
    /// The number of calls that failed.
    var failures = 0
  }

  /// Guards the rules: calls come from several threads.
  private let state: Mutex<State>
  /// The operations that make the calls which do not fail.
  private let system = SystemFileOperations()

  /// `failing` fails every time, with `number` as its errno (`EIO` unless given); nil lets all succeed.
  public init(failing: Step? = nil, number: Int32? = nil) {
    state = Mutex(State(failing: failing, number: number ?? EIO))
  }

  /// The steps asked for so far, failed ones included.
  public var steps: [Step] { state.withLock { $0.steps } }
  /// How many calls were refused.
  public var failures: Int { state.withLock { $0.failures } }

  /// From now on `step` fails; nil lets all succeed.
  public func fail(_ step: Step?) {
    state.withLock { $0.failing = step }
  }

  /// Lets one call fail: the one with that index among all, counted from 0, with that errno.
  public func fail(call index: Int, number: Int32) {
    state.withLock { $0.failingCall = (index, number) }
  }

  /// Lets nothing happen any more from the call with that index on, counted from 0.
  public func die(at index: Int) {
    state.withLock { $0.lastCall = index }
  }

  /// Whether the call that was to be the last has been reached.
  public var isDead: Bool { state.withLock { $0.steps.count > $0.lastCall } }

  /// `rule` says with which errno a call of a kind on a path or name fails; nil lets it succeed.
  public func answer(_ rule: (@Sendable (FileCall, String) -> Int32?)?) {
    state.withLock { $0.rule = rule }
  }

  /// From now on writes of that many bytes or more fail, with `EIO` unless given; nil lets all succeed.
  public func failWrites(of least: ByteCount?, number: Int32? = nil) {
    state.withLock { $0.longWrites = least.map { ($0, number ?? EIO) } }
  }

  /// Records the call, and fails when the test wants that. The rules are asked in this order: death, the one call, the
  /// kind, the rule of the test. A dead system answers `ECANCELED` to everything.
  public func willMake(_ call: FileCall, of subject: String) throws(SystemError) {
    let number = state.withLock { state -> Int32? in
      let index = state.steps.count
      state.steps.append(call)
      var number: Int32?
      if index >= state.lastCall {
        number = ECANCELED
      } else if let failing = state.failingCall, failing.index == index {
        number = failing.number
      } else if state.failing == call {
        number = state.number
      } else {
        number = state.rule?(call, subject)
      }
      if number != nil { state.failures += 1 }
      return number
    }
    guard let number else { return }
    let name =
      switch call {
      case .open, .create: "openat"
      case .makeDirectory: "mkdirat"
      default: call.rawValue
      }
    throw SystemError(number: number, call: name, subject: "injected")
  }

  /// When failing, half of `bytes` is written first, as on a full device: whole blocks, where there are any.
  public func write(
    _ bytes: Span<UInt8>, to file: borrowing FileDescriptor, at offset: ByteCount
  ) throws(SystemError) {
    do {
      try willMake(.write, of: "")
      try check(bytes.count)
    } catch {
      let half = bytes.count / 2
      let count = half < 4096 ? half : half / 4096 * 4096
      if !isDead { try system.write(bytes.extracting(first: count), to: file, at: offset) }
      throw error
    }
    try system.write(bytes, to: file, at: offset)
  }

  /// Throws where a write of that many bytes is to fail; shorter ones pass.
  private func check(_ written: Int) throws(SystemError) {
    let number = state.withLock { state -> Int32? in
      guard let long = state.longWrites, ByteCount(written) >= long.least else { return nil }
      state.failures += 1
      return long.number
    }
    if let number { throw SystemError(number: number, call: "pwrite", subject: "injected") }
  }
}
