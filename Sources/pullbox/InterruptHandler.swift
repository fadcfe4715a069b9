import ServiceRuntime
import Synchronization
import SystemCalls

/// What an interruption (Ctrl-C, SIGTERM) leaves to be done.
enum InterruptHandler {
  private static let temporaryPaths = Mutex<Set<String>>([])

  /// As shells report a process that a signal ended.
  static func wait(for signals: AsyncStream<ProcessSignal>) async -> ExitCode {
    for await signal in signals {
      switch signal {
      case .interrupt:
        StandardStream.error.write("\n")
        return ExitCode(rawValue: 130)
      case .terminate: return ExitCode(rawValue: 143)
      case .reload: continue
      }
    }
    return .failed
  }

  /// `path` is removed when the process ends, however it is asked to.
  static func removeAtEnd(_ path: String) {
    temporaryPaths.withLock { _ = $0.insert(path) }
  }

  static func removeTemporaryFiles() {
    for path in temporaryPaths.withLock({ $0 }) {
      // What stays is removed by the next run.
      _ = try? FileSystem.removeRecursively(path)
    }
  }
}
