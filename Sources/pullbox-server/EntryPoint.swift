import DeliveryService
import ServiceRuntime
import SystemCalls

@main
enum EntryPoint {
  static func main() {
    StandardStream.reserve()
    Heap.limit()
    let arguments = ArgumentParser.parseOrExit(DeliveryConfiguration.command)
    if TicketKeyRotation.isAsked(arguments) {
      TicketKeyRotation.run(arguments).exitProcess(printing: "pullbox-server")
    }
    Daemon.main(DeliveryConfiguration.command, configuration: DeliveryConfiguration.self) {
      configuration, log, load in
      let server = try DeliveryServer(configuration, log: log, inherited: try InheritedSockets.adopt())
      return Daemon.Parts(
        services: [server], addresses: { server.addresses }, reload: { await server.reload(load) },
        // Bodies may run until the drain's deadline; what comes after them takes moments.
        stopDeadline: configuration.drainDeadline.duration + .seconds(10))
    }
  }
}
