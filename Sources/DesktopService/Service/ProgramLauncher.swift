internal import Glibc
internal import SystemCalls

/// Starts programs of the desktop. No shell reads the arguments, and nothing waits for the program's end.
public struct ProgramLauncher: Sendable {
  /// Starts the first of these command lines whose program is there. False where none is.
  public var start: @Sendable ([[String]]) -> Bool

  /// A launcher of a test's own.
  public init(start: @escaping @Sendable ([[String]]) -> Bool) { self.start = start }

  /// posix_spawnp(3), with all signals as a program expects them. Ends of programs are not waited for: see ``forgetEnds()``.
  public static let system = ProgramLauncher { commands in commands.contains(where: spawn) }

  /// From now on the kernel clears away what ends (signal(7), `SIGCHLD`). To be called once, before a program is started.
  public static func forgetEnds() {
    _ = signal(SIGCHLD, SIG_IGN)
  }

  private static func spawn(_ command: [String]) -> Bool {
    guard let program = command.first else { return false }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    var defaults = sigset_t()
    unsafe sigemptyset(&defaults)
    unsafe sigaddset(&defaults, SIGCHLD)
    unsafe sigaddset(&defaults, SIGPIPE)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words = unsafe (command + [nil] as [String?]).map { unsafe $0.flatMap { unsafe strdup($0) } }
    defer { unsafe words.forEach { unsafe free($0) } }
    var process = pid_t()
    return unsafe posix_spawnp(&process, program, nil, &attributes, &words, environ) == 0
  }
}
