import AgentRecords
import CoreTypes
import PullboxAPIClient

/// Asks both services now, for a status that says how they are and not how they were. Their ``EndpointHealth`` holds the
/// answers. A service that wants to be left alone is not asked.
actor PeerProbes {
  /// For each service.
  static let timeout = Duration.seconds(5)
  /// The shortest time between the end of one probe and the next. A question in between, by any number of clients, gets
  /// the earlier answer.
  static let shortestInterval = Duration.seconds(5)

  /// The client that asks the delivery server.
  private let delivery: DeliveryClient
  /// The client that asks the store.
  private let store: StoreQueueClient
  /// The instant before which the store's queue is not to be asked.
  private let storeNotBefore: @Sendable () async -> MonotonicInstant
  /// The clock of rests.
  private let clock: any MonotonicClock

  /// The one that all who ask meanwhile wait for.
  private var running: Task<Void, Never>?
  /// The end of the last probe; nil before the first.
  private var lastEnd: MonotonicInstant?
  /// The times before which the services are not probed again, after probes that failed.
  private var serverRestsUntil: MonotonicInstant
  private var storeRestsUntil: MonotonicInstant

  /// `storeNotBefore` says when the store wants to be asked for its queue again.
  init(
    delivery: DeliveryClient, store: StoreQueueClient, clock: any MonotonicClock,
    storeNotBefore: @escaping @Sendable () async -> MonotonicInstant
  ) {
    self.delivery = delivery
    self.store = store
    self.storeNotBefore = storeNotBefore
    self.clock = clock
    let now = clock.now()
    serverRestsUntil = now
    storeRestsUntil = now
  }

  /// Returns once both have answered, or had their time; at once where they were asked a moment ago.
  func ask() async {
    if let running {
      await running.value
      return
    }
    if let lastEnd, clock.now() - lastEnd < Self.shortestInterval { return }
    // A task of its own, since others wait for its end as well, which they could not for a child of this one. It ends with the
    // caller that began it.
    let probe = Task { await self.askBoth() }
    running = probe
    await withTaskCancellationHandler {
      await probe.value
    } onCancel: {
      probe.cancel()
    }
  }

  /// Side by side; ends the wait of all who asked meanwhile.
  private func askBoth() async {
    async let server: Void = askServer()
    async let store: Void = askStore()
    _ = await (server, store)
    lastEnd = clock.now()
    running = nil
  }

  /// Asks nothing while the server rests.
  private func askServer() async {
    guard serverRestsUntil <= clock.now() else { return }
    do throws(APICallError) {
      try await delivery.probe(timeout: Self.timeout)
    } catch {
      serverRestsUntil = clock.now() + Self.rest(after: error, of: .server)
    }
  }

  /// Asks nothing while the store rests, for this probe or for its queue.
  private func askStore() async {
    let notBefore = max(storeRestsUntil, await storeNotBefore())
    guard notBefore <= clock.now() else { return }
    do throws(APICallError) {
      try await store.probe(timeout: Self.timeout)
    } catch {
      storeRestsUntil = clock.now() + Self.rest(after: error, of: .store)
    }
  }

  /// A failure is what the health then tells; here counts how long the service wants to be left alone. Zero
  /// where another probe may follow at once.
  private static func rest(after error: APICallError, of peer: StepFailure.Peer) -> Duration {
    guard case .retry(let notBefore) = StepFailure(error, from: peer).recovery else { return .zero }
    return notBefore ?? .zero
  }
}
