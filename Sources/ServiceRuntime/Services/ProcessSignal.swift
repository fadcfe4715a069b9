/// What an operator or a service manager asks of a daemon.
public enum ProcessSignal: Hashable, Sendable {
  /// SIGTERM.
  case terminate
  /// SIGINT, Ctrl-C.
  case interrupt
  /// SIGHUP.
  case reload
}
