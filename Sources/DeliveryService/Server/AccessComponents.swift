import ContentDelivery
import CoreTypes
import RouteAccess

/// The access to routes: the settings that a reload replaces, the keys of operators, and how many requests are admitted at
/// once.
struct AccessComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  /// The number of the state that tickets are verified against.
  let generation: Generation
  let settings: LiveSettings
  let admission: AdmissionControl
  let operators: OperatorKeys

  /// Reads the keys of tickets from the state directory, and those of operators. Blocks.
  init(on infrastructure: DeliveryComponents.Infrastructure) throws {
    self.infrastructure = infrastructure
    let (configuration, timer) = (infrastructure.configuration, infrastructure.timer)
    let generation = Generation()
    let settings = LiveSettings(
      try configuration.deliverySettings(
        keys: try TicketKeyFile.loadOrCreate(TicketKeyFile.path(in: configuration.state)),
        at: infrastructure.clock.now()),
      generation: generation)
    self.generation = generation
    self.settings = settings
    admission = AdmissionControl(try configuration.admissionLimits(), timer: timer)
    let keyring = try configuration.keyring()
    keyring.warn(infrastructure.log)
    operators = OperatorKeys(
      keyring.keys, needsSecondKey: configuration.requireSecondKey ?? false,
      reviewsProducts: configuration.requireProductReview ?? false,
      wrongKeys: WrongKeys(timer: timer),
      client: { settings.client(of: $0) })
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
