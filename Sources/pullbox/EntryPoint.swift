import CoreTypes
import Dispatch
import ServiceRuntime
import Synchronization
import SystemCalls

/// The executable `pullbox`, for publishers, operators and users of a device.
@main
enum EntryPoint {
  /// The exit code of the process, and the wait for it. The first task to end ends the process.
  private final class Outcome: Sendable {
    /// The code; a failure until a task has ended.
    private let code = Mutex(ExitCode.failed)
    /// Raised at each end.
    private let done = DispatchSemaphore(value: 0)

    /// Sets the code and lets ``wait()`` return.
    func end(with code: ExitCode) {
      self.code.locked { $0 = code }
      done.signal()
    }

    /// Blocks the calling thread.
    func wait() -> ExitCode {
      done.wait()
      return code.locked { $0 }
    }
  }

  /// Synchronous, so that signals are blocked before there is a second thread. The main thread waits, and the main actor
  /// with it: nothing may run there.
  static func main() {
    StandardStream.reserve()
    // A command that follows the agent sleeps for hours.
    TaskThreads.install()
    ProcessEnvironment.silenceDispatch()
    let signals: AsyncStream<ProcessSignal>
    do throws(SystemError) {
      signals = try ProcessSignals.install()
    } catch {
      StandardStream.error.write("pullbox: \(error)\n")
      ExitCode.failed.exitProcess()
    }
    let arguments = ArgumentParser.parseOrExit(CommandLineInterface.description)
    let outcome = Outcome()
    // Unstructured: there is no task yet that could be its parent. The first of the two to end ends the process:
    // the process does not wait for a command that is inside a long call.
    Task.detached { outcome.end(with: await CommandLineInterface.run(arguments)) }
    // Unstructured for the same reason.
    Task.detached { outcome.end(with: await InterruptHandler.wait(for: signals)) }
    let code = outcome.wait()
    InterruptHandler.removeTemporaryFiles()
    code.exitProcess(printing: "pullbox")
  }
}
