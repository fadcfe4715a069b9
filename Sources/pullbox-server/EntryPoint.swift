import DeliveryService
import ServiceRuntime

@main
enum EntryPoint {
  static func main() async {
    let arguments = ArgumentParser.parseOrExit(DeliveryConfiguration.command)
    let log = Log()
    do {
      let environment = try GroupEnvironment.process()
      let configuration = try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: arguments)
      if let level = LogLevel(name: configuration.logLevel) { log.level = level }
      let readyFile = arguments.value(CommandOption.readyFile.name).map(ReadyFile.init(path:))
      try readyFile?.removeStale()
      let server = try DeliveryServer(configuration, log: log)
      let group = ServiceGroup(
        [server], log: log, environment: environment,
        whenReady: { try readyFile?.write(addresses: server.addresses) })
      await group.run().exitProcess()
    } catch {
      log.error("pullbox-server cannot start", ["error": LogValue(error)])
      ExitCode.failed.exitProcess()
    }
  }
}
