import Glibc
import SystemCalls

extension ArgumentParser {
  /// Reads this process's own command line and environment. Help that was asked for is printed and ends the
  /// process with ``ExitCode/done``; a wrong command line with ``ExitCode/usage`` and one line on standard
  /// error.
  public static func parseOrExit(_ command: CommandDescription) -> ParsedArguments {
    do throws(UsageError) {
      let parser = ArgumentParser(command, environment: ProcessEnvironment.variables)
      let columns = min(Terminal.standardOutput.columns ?? 80, 100)
      switch try parser.parse(Array(CommandLine.arguments.dropFirst()), columns: columns) {
      case .run(let arguments): return arguments
      case .help(let text):
        StandardStream.output.write(text)
        ExitCode.done.exitProcess(printing: command.name)
      }
    } catch {
      exit(command, error)
    }
  }

  /// For what is found wrong with the arguments after parsing.
  public static func exit(_ command: CommandDescription, _ error: UsageError) -> Never {
    StandardStream.error.write("\(command.name): \(error)\n")
    ExitCode.usage.exitProcess()
  }
}
