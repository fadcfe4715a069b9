internal import CLinux
import CoreTypes
internal import Glibc
internal import Synchronization

/// Carries commands from any thread to a loop that waits on descriptors, in order. The loop waits for ``wakeUp`` among the others.
///
/// The number of commands has no bound: who posts them has one of its own.
public final class CommandMailbox<Command: Sendable>: Sendable {
  private enum Phase {
    case open
    /// Nothing more goes in; the loop has still to look.
    case closing
    /// The loop is gone.
    case sealed
  }

  private struct State {
    var commands: [Command] = []
    var phase = Phase.open
  }

  private let state = Mutex(State())
  /// Becomes readable with the first command of several, and when the mailbox is closed.
  public let wakeUp: FileDescriptor

  /// An open mailbox with no command. Throws the error of eventfd(2).
  public init() throws(SystemError) {
    wakeUp = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
  }

  /// Whether commands are accepted.
  public var isOpen: Bool { state.locked { $0.phase == .open } }

  /// Whether the loop is gone.
  public var isSealed: Bool { state.locked { $0.phase == .sealed } }

  /// False where the command is not accepted and will not run.
  public func post(_ command: Command) -> Bool {
    let (isAccepted, isFirst) = state.locked { state in
      guard state.phase == .open else { return (false, false) }
      state.commands.append(command)
      return (true, state.commands.count == 1)
    }
    // Not under the lock: the loop takes it at once. A loop that has commands waiting was woken for the first of them.
    if isFirst { wake() }
    return isAccepted
  }

  /// Nothing more is accepted. The loop is woken, and collects what was.
  public func close() {
    state.locked { state in if state.phase == .open { state.phase = .closing } }
    wake()
  }

  private func wake() {
    // Fails only where the counter is full, and then the loop is awake anyway.
    _ = eventfd_write(wakeUp.number, 1)
  }

  /// Returns the commands that have come in since the last call; never blocks. `isClosing` is true with the last commands there will ever
  /// be.
  ///
  /// - Parameter isWoken: whether ``wakeUp`` has become readable.
  public func collect(isWoken: Bool) -> (commands: [Command], isClosing: Bool) {
    var count: eventfd_t = 0
    if isWoken { _ = unsafe eventfd_read(wakeUp.number, &count) }
    return state.locked { state in
      defer { state.commands = [] }
      return (state.commands, state.phase != .open)
    }
  }

  /// The loop is gone: nothing is accepted any more. Returns the commands that will not run.
  public func seal() -> [Command] {
    state.locked { state in
      defer { state.commands = [] }
      state.phase = .sealed
      return state.commands
    }
  }
}
