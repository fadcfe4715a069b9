import ContentDelivery
import CoreTypes
import Database
import DeliveryRecords
import RouteAccess
import ServiceRuntime

/// The access to routes: the settings that a reload replaces, the keys of operators, and how many requests are admitted at
/// once.
struct AccessComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  /// The number of the state that tickets are verified against.
  let generation: Generation
  let settings: LiveSettings
  let ticketKeys: TicketKeyPlace
  let admission: AdmissionControl
  let operators: OperatorKeys

  /// Reads the keys of tickets and those of operators. Blocks.
  init(on infrastructure: DeliveryComponents.Infrastructure) throws {
    self.infrastructure = infrastructure
    let (configuration, timer) = (infrastructure.configuration, infrastructure.timer)
    let generation = Generation()
    let ticketKeys = TicketKeyPlace(
      database: infrastructure.database, state: configuration.state, log: infrastructure.log)
    self.ticketKeys = ticketKeys
    let settings = LiveSettings(
      try configuration.deliverySettings(
        keys: try ticketKeys.loadOrCreate(), at: infrastructure.clock.now()),
      generation: generation)
    self.generation = generation
    self.settings = settings
    admission = AdmissionControl(try configuration.admissionLimits(), timer: timer)
    let keyring = try configuration.keyring()
    keyring.warn(infrastructure.log)
    operators = OperatorKeys(
      keyring.keys, needsSecondKey: configuration.requireSecondKey ?? false,
      reviewsProducts: configuration.requireProductReview ?? false,
      needsSecondOperator: configuration.secondOperator ?? false,
      wrongKeys: WrongKeys(timer: timer),
      client: { settings.client(of: $0) })
  }

  /// Takes the ticket keys in that other nodes add, until the task is cancelled.
  func followTicketKeys() async {
    guard infrastructure.database.isShared else { return }
    let reader = infrastructure.database.reader(of: .keys)
    // A new key seals ten seconds after it was added.
    let backoff = Backoff(initial: .milliseconds(200), cap: .seconds(2))
    let worker = Worker(clock: infrastructure.timer, backoff: backoff)
    await withTaskGroup { group in
      group.addTask {
        while await reader.next() != nil { worker.wake() }
      }
      group.addTask {
        await worker.run {
          // The first look has what came since the start read them.
          settings.replaceKeys(try await ticketKeys.load())
          return .waitForWake
        } onFailure: { error in
          infrastructure.log.warning("the ticket keys cannot be read", ["error": LogValue(error)])
        }
        reader.close()
      }
    }
  }

  /// Writes down which unknown keys were offered, until the task is cancelled.
  func reportWrongKeys() async {
    await WrongKeyReporter(
      wrongKeys: operators.wrongKeys, database: infrastructure.database, clock: infrastructure.clock,
      log: infrastructure.log
    ).run(timer: infrastructure.timer)
  }

  /// Puts admission before each route that was added so far.
  func admit(_ routes: inout ScopedRoutes) {
    let admission = RouteAdmission(control: admission, settings: settings)
    routes.wrap { admission.middleware(for: $0) }
  }
}
