import CoreTypes
import Files
import ServiceRuntime
import Synchronization
import SystemCalls

/// Ends the process at an interruption (Ctrl-C, SIGTERM, a terminal that closes), and removes the temporary files of this run.
enum InterruptHandler {
  /// Removed at the end of the process, unless it is killed or crashes.
  private static let temporaryPaths = Mutex<Set<String>>([])

  /// Returns at the first SIGINT, SIGTERM or SIGHUP (the terminal was closed), with the code by which shells report a process that the
  /// signal killed.
  static func wait(for signals: AsyncStream<ProcessSignal>) async -> ExitCode {
    for await signal in signals {
      switch signal {
      case .interrupt:
        StandardStream.error.write("\n")
        return ExitCode(rawValue: 130)
      case .terminate: return ExitCode(rawValue: 143)
      case .reload: return ExitCode(rawValue: 129)
      }
    }
    return .failed
  }

  /// Has ``removeTemporaryFiles()`` remove `path`. A path that is removed before that is no error.
  static func removeAtEnd(_ path: String) {
    temporaryPaths.locked { _ = $0.insert(path) }
  }

  /// Called when the command has ended and when a signal has ended it.
  static func removeTemporaryFiles() {
    for path in temporaryPaths.locked({ $0 }) {
      // What stays is removed by the next run.
      _ = try? FileSystem.removeRecursively(path)
    }
  }
}
