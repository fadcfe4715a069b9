import CoreTypes
import DesktopService
import Dispatch
import ServiceRuntime
import Synchronization
import SystemCalls

/// The program `pullbox-desktop`: one for each graphical session.
@main
enum EntryPoint {
  private static let description = CommandDescription(
    "pullbox-desktop", summary: "Shows what the download agent has to say on the desktop",
    discussion: """
      Without a command it serves the session until it is ended: notices, progress on the icon, links, and the \
      search of the shell.
      """,
    exitCodes: [(.done, "done"), (.failed, "failed"), (.usage, "wrong usage")],
    options: [.logLevel],
    subcommands: [
      CommandDescription(
        "open", summary: "Open links of the scheme pullbox: each becomes a question on the desktop",
        operands: [.init("LINK", repeats: true)])
    ], needsSubcommand: false)

  /// Synchronous, so that signals are blocked before there is a second thread.
  static func main() {
    StandardStream.reserve()
    Heap.limit()
    TaskThreads.install()
    ProgramLauncher.forgetEnds()
    let arguments = ArgumentParser.parseOrExit(description)
    let log = Log()
    log.level = arguments.value(CommandOption.logLevel.name).flatMap(LogLevel.init(name:)) ?? .info
    let environment: GroupEnvironment
    do {
      environment = try .process()
    } catch {
      StandardStream.error.write("pullbox-desktop: \(error)\n")
      ExitCode.failed.exitProcess()
    }
    let code = Mutex(ExitCode.failed)
    let done = DispatchSemaphore(value: 0)
    // Unstructured: there is no task yet that could be its parent.
    Task.detached {
      let result = await run(arguments, environment, log)
      code.locked { $0 = result }
      done.signal()
    }
    done.wait()
    code.locked { $0 }.exitProcess()
  }

  private static func run(
    _ arguments: ParsedArguments, _ environment: GroupEnvironment, _ log: Log
  ) async -> ExitCode {
    do {
      let variables = ProcessEnvironment.variables
      guard arguments.subcommands.isEmpty else {
        try await DesktopSession.open(links: arguments.operands, environment: variables)
        return .done
      }
      return await ServiceGroup(
        [try DesktopSession(environment: variables, log: log)], log: log, environment: environment
      ).run()
    } catch {
      StandardStream.error.write("pullbox-desktop: \(error)\n")
      return .failed
    }
  }
}
