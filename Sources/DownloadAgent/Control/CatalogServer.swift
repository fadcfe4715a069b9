import ContentLibrary
import CoreTypes
import HTTPServer
import LibraryCatalog
import Monitoring
import PullboxAPI
import ServiceRuntime

/// The server of the catalog that programs of this device read, with its key.
final class CatalogServer: Sendable {
  /// Listens at the one address that is configured.
  let server: HTTPServer
  private let key: CatalogKey

  /// Makes the key where there is none yet; nothing listens before the start. Blocks. Throws ``ConfigurationError`` for an address that is
  /// not this device's own, and for a key that cannot be used.
  init(
    at address: String, of library: Library, reading: ReadingShelf, state: String, clock: any MonotonicClock,
    wallClock: any WallClock, log: Log
  ) throws(ConfigurationError) {
    let address = try CatalogAddress.parse(address)
    let key = try CatalogKey(in: state)
    let running = WeakServerReference()
    let catalog = LibraryCatalog(
      on: LibraryCatalog.Infrastructure(
        library: library, reading: reading, key: key, started: wallClock.now(), clock: wallClock,
        timer: clock, log: log,
        base: { Self.base(of: running.addresses) }))
    self.key = key
    server = HTTPServer(
      configuration: LibraryCatalog.configuration(address), handler: catalog.router(), clock: clock)
    running.set(server)
  }

  /// Put before addresses: programs that reach a socket know themselves how.
  private static func base(of addresses: [ServerAddress]) -> String {
    guard let address = addresses.first, case .tcp = address else { return "" }
    return "http://\(address)"
  }

  /// The address that programs are given; nil before the start. Below a socket it is the socket's.
  var address: String? {
    server.boundAddresses.first.map { address in
      if case .unix = address { return "\(address)" }
      return "http://\(address)/opds"
    }
  }

  /// The key with the address; nil before the start.
  var shownKey: NewReaderKey? {
    address.map { NewReaderKey(name: key.name, password: key.password.revealed, address: $0) }
  }
}
