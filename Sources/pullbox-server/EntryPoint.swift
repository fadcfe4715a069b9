import DeliveryService
import Files
import ServiceRuntime
import SystemCalls

@main
enum EntryPoint {
  static func main() {
    Daemon.main(
      DeliveryConfiguration.command, configuration: DeliveryConfiguration.self,
      commands: DeliveryServer.commands
    ) { configuration, log, source in
      do {
        try DescriptorLimit.raise()
      } catch {
        log.warning("the limit of file descriptors stays as it is", ["error": LogValue(error)])
      }
      let server = try DeliveryServer(
        configuration, log: log, inherited: try InheritedSockets.adopt(), listing: try source.read().listing)
      return Daemon.Parts(
        services: [server], addresses: { server.addresses }, reload: { await server.reload(from: source) },
        // Bodies may run until the drain's deadline; what comes after them takes moments.
        stopDeadline: configuration.drainDeadline.duration + .seconds(10))
    }
  }
}
