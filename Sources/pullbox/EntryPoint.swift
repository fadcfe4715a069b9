import Dispatch
import ServiceRuntime
import Synchronization
import SystemCalls

/// `pullbox`: for publishers and for people at a device.
@main
enum EntryPoint {
  /// Synchronous, so that signals are blocked before there is a second thread.
  static func main() {
    let signals: AsyncStream<ProcessSignal>
    do throws(SystemError) {
      signals = try ProcessSignals.install()
    } catch {
      StandardStream.error.write("pullbox: \(error)\n")
      ExitCode.failed.exitProcess()
    }
    let arguments = ArgumentParser.parseOrExit(CommandLineInterface.description)
    let result = Mutex(ExitCode.failed)
    let done = DispatchSemaphore(value: 0)
    // The root of everything: there is no task yet that could be its parent. Whichever of the two ends first is the end:
    // a command that an interruption finds inside a long call is not waited for.
    Task {
      let code = await CommandLineInterface.run(arguments)
      result.withLock { $0 = code }
      done.signal()
    }
    // As above.
    Task {
      let code = await Interruption.wait(for: signals)
      result.withLock { $0 = code }
      done.signal()
    }
    done.wait()
    Interruption.removeTemporaryFiles()
    result.withLock { $0 }.exitProcess()
  }
}
