internal import CLinux
internal import Glibc
public import SystemCalls

/// A program that a test runs: one thread waits for its end, which any number of callers may await.
public final class ChildProcess: Sendable {
  /// How a process ended.
  public enum Ending: Hashable, Sendable {
    /// The program ended by itself, with that status, 0 to 255.
    case exited(Int32)
    /// A signal ended it; its number is from signal(7).
    case killed(signal: Int32)
  }

  /// The part of this process's environment that a program under test gets: where programs and libraries lie,
  /// and the options of the sanitizer that both were built for.
  public static let inheritedEnvironment: [String: String] = {
    var environment: [String: String] = [:]
    for name in ["PATH", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"] {
      guard let value = unsafe getenv(name) else { continue }
      environment[name] = unsafe String(cString: value)
    }
    return environment
  }()

  /// The process's identifier; see ``send(signal:)`` for how long it is valid.
  public let identifier: Int32
  /// The wait for the process, which goes on without a caller.
  private let waiting: Task<Ending, Never>

  /// Starts `executable` (a path) with only `environment`. Standard output and error are appended to files; without
  /// `errors` both go to `output`. `handingOver` are sockets for it as sd_listen_fds(3) wants them, with their names.
  public init(
    _ executable: String, _ arguments: [String], environment: [String: String], output: String,
    errors: String? = nil, handingOver sockets: [InheritedSocket] = []
  ) throws {
    let errorFile = try FileDescriptor.open(errors ?? output, .writeOnly, options: [.create, .append])
    let outputFile = try FileDescriptor.open(output, .writeOnly, options: [.create, .append])
    let input = try FileDescriptor.open("/dev/null", .readOnly)
    var command = [executable] + arguments
    var environment = environment
    if !sockets.isEmpty {
      // Only the process itself knows its identifier before it runs.
      command = ["/bin/sh", "-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""] + command
      environment["LISTEN_FDS"] = "\(sockets.count)"
      environment["LISTEN_FDNAMES"] = sockets.map(\.name).joined(separator: ":")
    }
    let identifier = try Self.spawn(
      command[0], arguments: command, environment: environment.map { "\($0)=\($1)" },
      streams: [input.number, outputFile.number, errorFile.number] + sockets.map { $0.descriptor.number })
    self.identifier = identifier
    let thread = BlockingThread(name: "wait \(identifier)")
    // Unstructured: the process lives for as long as the test wants, and leaves a zombie unless it is waited for.
    waiting = Task { await thread.run { Self.wait(for: identifier) } }
  }

  /// Starts `executable` (a path) on a terminal, with only `environment`.
  public init(
    _ executable: String, _ arguments: [String], environment: [String: String], on terminal: PseudoTerminal
  ) throws {
    let side = terminal.programSide
    let identifier = try Self.spawn(
      executable, arguments: [executable] + arguments, environment: environment.map { "\($0)=\($1)" },
      streams: [side, side, side])
    self.identifier = identifier
    let thread = BlockingThread(name: "wait \(identifier)")
    // Unstructured, as in the other initializer.
    waiting = Task { await thread.run { Self.wait(for: identifier) } }
  }

  /// Returns when the process has ended.
  public func ending() async -> Ending { await waiting.value }

  /// The number of a signal from signal(7). To be called only before ``ending()`` has answered: then the identifier may
  /// belong to another process.
  public func send(signal: Int32) {
    _ = Glibc.kill(identifier, signal)
  }

  /// SIGKILL, and gone when this returns.
  public func killAndWait() async {
    send(signal: SIGKILL)
    _ = await ending()
  }

  /// SIGTERM, and how it ended.
  public func terminateAndWait() async -> Ending {
    send(signal: SIGTERM)
    return await ending()
  }

  /// Starts the program with the streams as its descriptors 0, 1, 2 and so on, all signals unblocked. It inherits no
  /// other descriptor, since all of ours are closed on exec. Throws `SystemError` of posix_spawn(3).
  private static func spawn(
    _ executable: String, arguments: [String], environment: [String], streams: [Int32]
  ) throws(SystemError) -> Int32 {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    // First out of the way of the numbers they are to have, as one may be another's.
    let aside = 1 + (streams.max() ?? 0)
    for (number, stream) in streams.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, stream, aside + Int32(number))
    }
    for number in 0..<Int32(streams.count) {
      unsafe posix_spawn_file_actions_adddup2(&actions, aside + number, number)
      unsafe posix_spawn_file_actions_addclose(&actions, aside + number)
    }
    // The caller's thread may block signals that a program expects to be able to receive.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    var words = unsafe (arguments + [nil] as [String?]).map { unsafe $0.flatMap { unsafe strdup($0) } }
    var variables = unsafe (environment + [nil] as [String?]).map { unsafe $0.flatMap { unsafe strdup($0) } }
    defer {
      unsafe words.forEach { unsafe free($0) }
      unsafe variables.forEach { unsafe free($0) }
    }
    var identifier: pid_t = 0
    let result = unsafe posix_spawn(&identifier, executable, &actions, &attributes, &words, &variables)
    guard result == 0 else { throw SystemError(number: result, call: "posix_spawn", subject: executable) }
    return identifier
  }

  /// Waits in waitpid(2) and takes the process out of the table: its number may be another's afterwards. Blocks.
  private static func wait(for identifier: Int32) -> Ending {
    var status: Int32 = 0
    while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}
