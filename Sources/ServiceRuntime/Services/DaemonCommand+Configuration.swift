import SystemCalls

extension DaemonCommand {
  /// `--check`, `--print-config` and `--print-sample` of the daemon that `command` describes. They read, and start and write
  /// nothing; `--check` asks the services that the configuration names.
  static func ofConfiguration(_ command: CommandDescription) -> [DaemonCommand] {
    [
      DaemonCommand(flag: CommandOption.checkConfiguration.name) { invocation in
        let report = await ConfigurationReport<Configuration>.read(invocation.arguments).askingServices()
        tell(report, of: command.name)
        return report.faults.isEmpty ? .done : .configuration
      },
      DaemonCommand(flag: CommandOption.printConfiguration.name) { invocation in
        let report = await ConfigurationReport<Configuration>.read(invocation.arguments)
        StandardStream.output.write(report.listing.text)
        guard !report.faults.isEmpty else { return .done }
        tell(report, of: command.name)
        return .configuration
      },
      DaemonCommand(flag: CommandOption.printSample.name) { _ in
        StandardStream.output.write(ConfigurationSample(command).text)
        return .done
      },
    ]
  }

  /// Prints faults and warnings on standard error, and the verdict behind them: on standard output where there is no
  /// fault.
  private static func tell(_ report: ConfigurationReport<Configuration>, of program: String) {
    for line in report.lines { StandardStream.error.write(line + "\n") }
    let count = report.faults.count
    if count == 0 {
      StandardStream.output.write("\(program): the configuration has no fault\n")
    } else {
      StandardStream.error.write("\(program): \(count) \(count == 1 ? "fault" : "faults")\n")
    }
  }
}

extension ConfigurationReport {
  /// Reads on the pool for blocking calls.
  fileprivate static func read(_ arguments: ParsedArguments) async -> ConfigurationReport {
    await BlockingPool.shared.run { ConfigurationReport(arguments) }
  }
}

extension Log {
  /// Says that a reload has changed nothing, and why: a line for each fault of a configuration, with its place.
  public func refuseReload(_ error: any Error) {
    let message = "reloading failed; everything stays as it was"
    guard let error = error as? ConfigurationError else {
      self.error(message, ["error": LogValue(error)])
      return
    }
    for fault in error.faults { self.error(message, fault.fields) }
  }
}

extension ConfigurationFault {
  /// The fields of the fault in a line of the log.
  var fields: KeyValuePairs<String, LogValue> {
    guard let origin, origin != .fallback else {
      return ["key": LogValue(subject), "error": LogValue(message)]
    }
    return ["key": LogValue(subject), "error": LogValue(message), "from": LogValue(origin.description)]
  }
}
