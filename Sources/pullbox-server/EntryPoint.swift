import DeliveryService
import ServiceRuntime

@main
enum EntryPoint {
  static func main() {
    Daemon.main(DeliveryConfiguration.command, configuration: DeliveryConfiguration.self) {
      configuration, log in
      let server = try DeliveryServer(configuration, log: log)
      return Daemon.Parts(services: [server], addresses: { server.addresses })
    }
  }
}
