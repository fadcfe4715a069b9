import PullboxAPIServer
import HTTPServer
import CoreTypes
import ServiceRuntime
import Synchronization
import SystemCalls

/// The store as a service: opens its state, answers, drains.
final class SandboxService: Service {
  private let configuration: SandboxConfiguration
  private let log: Log
  private let clock: any WallClock
  /// Nil before the start and after the stop.
  private let open = Mutex<RunningStore?>(nil)

  var name: String { "sandbox-store" }

  init(
    _ configuration: SandboxConfiguration, log: Log, clock: any WallClock = SystemWallClock()
  ) {
    self.configuration = configuration
    self.log = log
    self.clock = clock
  }

  /// Opens the state, settles what a former process left behind, and answers from then on.
  func start() async throws {
    let opened = try await BlockingPool.shared.run { [self] in
      try RunningStore(configuration, clock: clock, log: log)
    }
    do {
      let interrupted = try await opened.store.settleInterrupted()
      if interrupted > 0 {
        log.warning("interrupted purchases have failed", ["count": LogValue(interrupted)])
      }
      try await BlockingPool.shared.run { try opened.server.start() }
    } catch {
      await opened.close()
      throw error
    }
    open.withLock { $0 = opened }
    log.info("the store is open", ["addresses": "\(addresses.map(\.description).joined(separator: " "))"])
  }

  func stop() async {
    let opened = open.withLock { open in
      defer { open = nil }
      return open
    }
    await opened?.close()
  }

  /// Where it listens; empty while it does not.
  var addresses: [ServerAddress] {
    open.withLock { $0?.server.boundAddresses ?? [] }
  }
}
