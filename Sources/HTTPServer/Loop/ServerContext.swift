internal import CoreTypes
internal import Synchronization

/// The configuration and the services that the loops of a server share.
final class ServerContext: Sendable {
  let configuration: HTTPServerConfiguration
  let durations: DeadlineDurations
  /// The `max-age` that goes into responses over TLS.
  let strictTransportSeconds: Int64?
  let clock: any MonotonicClock
  let wallClock: any WallClock
  let makeDispatcher: @Sendable (_ capacity: Int) -> InlineDispatcher?
  let requests: any RequestRunner
  let pages: PagePrefetcher
  let addresses: AddressTable
  /// Open connections of all loops, but for those that were refused for want of room.
  let openCount = Atomic<Int>(0)
  /// For connections accepted from now on.
  private let tls = Mutex<TLSContext?>(nil)

  init(
    configuration: HTTPServerConfiguration, clock: any MonotonicClock, wallClock: any WallClock,
    makeDispatcher: @escaping @Sendable (_ capacity: Int) -> InlineDispatcher?,
    requests: any RequestRunner, pageCache: any PageCache
  ) {
    self.configuration = configuration
    durations = DeadlineDurations(configuration)
    strictTransportSeconds = configuration.tls?.strictTransport.map { max(0, $0.components.seconds) }
    self.clock = clock
    self.wallClock = wallClock
    self.makeDispatcher = makeDispatcher
    self.requests = requests
    pages = PagePrefetcher(pageCache)
    addresses = AddressTable(
      limit: configuration.maximumConnectionsPerAddress, exempt: configuration.unlimitedAddresses)
  }

  /// Whether half of the connections that there may be are open.
  var isCrowded: Bool { openCount.load(ordering: .relaxed) * 2 >= configuration.maximumConnections }

  /// Nil when there is no memory for it.
  func makeSession(descriptor: Int32) -> TLSSession? {
    tls.locked { $0 }?.makeSession(descriptor: descriptor)
  }

  /// Nil without a certificate.
  var certificateExpiry: Timestamp? { tls.locked { $0 }?.expiry }

  /// Reads certificate and key; those in use stay when it throws. Blocks.
  func loadCertificates() throws(HTTPServerError) {
    guard let configuration = configuration.tls else { return }
    let loaded = try TLSContext(configuration)
    tls.locked { $0 = loaded }
  }
}

/// A request on its way to the async handler.
struct PendingRequest: Sendable {
  let exchange: Exchange
  var request: HTTPRequest
}

extension ServerContext {
  /// The configured length of a deadline in nanoseconds; nil for none.
  func duration(of deadline: ConnectionMachine.Deadline) -> UInt64? {
    switch deadline {
    case .none: nil
    case .idle: durations.idle
    case .handshake, .head: durations.head
    case .body: durations.body
    case .send: durations.send
    case .linger, .departure: durations.linger
    case .storage: durations.storage
    }
  }
}
